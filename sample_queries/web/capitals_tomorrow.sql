-- worldbank and openmeteo: how warm do the capitals of Europe and Central Asia get?
SELECT c.name, c.capital, w.day, w.temperature_max
FROM worldbank.countries c
JOIN openmeteo.forecast w ON w.latitude = c.latitude AND w.longitude = c.longitude
WHERE c.region = 'Europe & Central Asia' AND c.income_level = 'High income'
