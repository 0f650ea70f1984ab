-- DISTINCT over a join: which crime ratings each state has.
SELECT DISTINCT F.State, C.crimeRating
FROM FEC AS F
JOIN Crime AS C ON F.zip = C.zip
