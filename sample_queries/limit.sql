-- LIMIT without ORDER BY: all fetching stops as soon as five rows are out. Which five is up to the sources.
SELECT F.id, F.name, D.householdIncome
FROM FEC AS F
JOIN Demographics AS D ON F.zip = D.zip
LIMIT 5
