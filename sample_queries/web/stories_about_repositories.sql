-- hackernews and github: who of those who write on top of Hacker News has an account of the same name at GitHub?
SELECT i.title, i.score, u.login, u.name, u.followers
FROM hackernews.top_stories s
JOIN hackernews.items i ON i.id = s.id
JOIN github.users u ON u.login = i.`by`
WHERE i.score > 300
LIMIT 10
