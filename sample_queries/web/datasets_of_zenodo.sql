-- zenodo and datacite: records of a search, and what DataCite knows of their DOIs.
SELECT z.title, z.downloads, d.year, d.citations
FROM zenodo.search z JOIN datacite.dois d ON d.doi = z.doi
WHERE z.query = 'eddy covariance' AND z.type = 'dataset'
LIMIT 25
