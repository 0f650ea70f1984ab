-- First the five zips that gave most, then one request for each of them: the CTE is run before its keys are looked up,
-- so five requests go to Demographics and not one for every zip.
WITH top AS (
  SELECT zip, sum(contribution) AS given FROM FEC GROUP BY zip ORDER BY given DESC, zip LIMIT 5
)
SELECT top.zip, top.given, D.householdIncome
FROM top JOIN Demographics AS D ON D.zip = top.zip
ORDER BY top.given DESC;
