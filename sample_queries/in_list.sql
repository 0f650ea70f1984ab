-- An IN list binds the key of a table that can only be looked up: one request for each value.
SELECT zip, population, medianAge
FROM Demographics
WHERE zip IN ('94700', '94705', '10003', '98110', '00000')
