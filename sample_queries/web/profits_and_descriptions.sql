-- edgar and wikidata: what companies earned in a year, as they reported it, and what they are.
SELECT c.ticker, s.description, n.fiscal_year, n.value
FROM edgar.companies c
JOIN edgar.filings f ON f.cik = c.cik
JOIN edgar.concepts n ON n.cik = c.cik AND n.accession_number = f.accession_number
JOIN wikidata.search s ON s.text = c.name
WHERE c.ticker IN ('AAPL', 'MSFT') AND n.concept = 'NetIncomeLoss' AND f.form = '10-K'
