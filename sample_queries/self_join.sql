-- A self-join: both sides are fed by one scan, and each pair of gifts from one person on one day appears once.
SELECT A.name, A.date, A.contribution AS first_gift, B.contribution AS second_gift
FROM FEC AS A
JOIN FEC AS B ON A.name = B.name AND A.date = B.date AND A.zip = B.zip
WHERE A.id < B.id
