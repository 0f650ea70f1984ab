-- Zips with a crime rating from which nobody contributed. Every query block is fetched by an eddy of its own, at once.
SELECT C.zip, C.crimeRating
FROM Crime AS C
WHERE NOT EXISTS (SELECT * FROM FEC AS F WHERE F.zip = C.zip AND F.contribution > 2000)
ORDER BY C.zip;
