-- A join and nothing above it: rows stream out as they are found, and no JVM is started.
SELECT F.id, F.contribution, D.householdIncome
FROM FEC AS F
JOIN Demographics AS D ON F.zip = D.zip
WHERE F.contribution > 500 AND F.State = 'CA'
