-- stackexchange and github: do questions about a tool come with issues of the same week?
SELECT date_trunc('WEEK', q.creation_date) AS week, count(DISTINCT q.question_id) AS questions, count(DISTINCT i.number) AS issues
FROM stackexchange.questions q
JOIN github.issues i ON date_trunc('WEEK', i.created_at) = date_trunc('WEEK', q.creation_date)
WHERE q.site = 'stackoverflow' AND q.tag = 'duckdb' AND i.owner = 'duckdb' AND i.repo = 'duckdb-web'
GROUP BY 1
ORDER BY 1
