-- A constant binds the key: one request to Demographics and one to Crime, and no scan.
SELECT D.zip, D.householdIncome, C.crimeRating
FROM Demographics AS D, Crime AS C
WHERE D.zip = '94705' AND C.zip = D.zip
