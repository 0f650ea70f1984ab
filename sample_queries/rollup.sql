-- Grouping sets above a join: per state and crime rating, per state, and in all.
SELECT F.State, C.crimeRating, count(*) AS contributions
FROM FEC AS F JOIN Crime AS C ON F.zip = C.zip
GROUP BY ROLLUP (F.State, C.crimeRating)
ORDER BY ALL;
