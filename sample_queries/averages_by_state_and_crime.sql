-- The query of the papers: a triangle of three sources, two of which answer lookups by zip; Spark groups and averages.
SELECT AVG(F.contribution), AVG(D.householdIncome), F.State, C.crimeRating
FROM FEC AS F, Demographics AS D, Crime AS C
WHERE F.zip = D.zip AND F.zip = C.zip
GROUP BY F.State, C.crimeRating
