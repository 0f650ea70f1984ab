-- openfec and census: contributions from a ZIP code, and what a household there earns.
SELECT r.zip, count(*) AS contributions, sum(r.contribution_receipt_amount) AS total, max(a.value) AS median_income
FROM census.acs5_zips a
JOIN openfec.receipts_by_zip r ON r.zip = a.zip
WHERE a.year = 2022 AND a.variable = 'B19013_001E' AND a.zip IN ('94704', '10021')
  AND r.two_year_transaction_period = 2022 AND r.contribution_receipt_amount > 2000
GROUP BY r.zip
