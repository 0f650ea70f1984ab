-- HAVING and ORDER BY: the states that gave more than a hundred large gifts, most generous first.
SELECT F.State, COUNT(*) AS gifts, SUM(F.contribution) AS total
FROM FEC AS F
WHERE F.contribution >= 300
GROUP BY F.State
HAVING COUNT(*) > 100
ORDER BY total DESC
