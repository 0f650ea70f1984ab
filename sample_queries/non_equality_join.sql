-- A join without any equality: pairs of severe and low zips where the severe one has at most as many incidents.
SELECT A.zip AS severe, B.zip AS other, A.incidents, B.incidents AS more_incidents
FROM Crime AS A
JOIN Crime AS B ON A.incidents <= B.incidents
WHERE A.crimeRating = 'severe' AND B.crimeRating = 'severe' AND A.zip <> B.zip
