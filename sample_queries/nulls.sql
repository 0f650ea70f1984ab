-- NULL joins nothing and equals nothing: contributions without a committee in zips without a median age.
SELECT F.id, F.committee, D.medianAge
FROM FEC AS F
JOIN Demographics AS D ON F.zip = D.zip
WHERE F.committee IS NULL AND D.medianAge IS NULL
