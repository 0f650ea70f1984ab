-- Rows are counted as SQL counts them: equal rows stay, though Crime is read by scan and by lookup at the same time.
SELECT F.State, C.crimeRating
FROM FEC AS F
JOIN Crime AS C ON F.zip = C.zip
WHERE F.contribution > 800
