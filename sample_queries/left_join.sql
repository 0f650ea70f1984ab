-- An outer join with a table that answers by key only: Demographics is asked for the zips that contributions have, and
-- Spark counts. Contributions from zips that nobody has counted stay, with NULL.
SELECT F.State, count(*) AS contributions, count(D.zip) AS with_income
FROM FEC AS F LEFT JOIN Demographics AS D ON F.zip = D.zip
GROUP BY F.State
ORDER BY contributions DESC, F.State;
