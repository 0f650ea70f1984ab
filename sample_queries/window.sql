-- A window function over web tables: large gifts, ranked within their state.
SELECT State, name, contribution, RANK() OVER (PARTITION BY State ORDER BY contribution DESC) AS place
FROM FEC
WHERE contribution > 900
