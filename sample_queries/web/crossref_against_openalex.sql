-- crossref and openalex: two counts of citations of the same works.
SELECT c.doi, c.title, c.cited_by_count AS crossref, o.cited_by_count AS openalex, o.is_open_access
FROM crossref.search c JOIN openalex.works o ON o.doi = c.doi
WHERE c.query = 'eddies continuously adaptive query processing'
LIMIT 20
