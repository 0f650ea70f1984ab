-- A scalar subquery, IN, and a set operation in one statement. Both branches read FEC, whose pages are fetched once.
SELECT 'above the average' AS what, count(*) AS n
FROM FEC
WHERE contribution > (SELECT avg(contribution) FROM FEC)
UNION ALL
SELECT 'from safe places', count(*)
FROM FEC
WHERE zip IN (SELECT zip FROM Crime WHERE crimeRating = 'low');
