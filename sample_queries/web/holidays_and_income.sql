-- nager and worldbank: how many public holidays have rich and poor countries?
SELECT w.income_level, count(*) / count(DISTINCT h.country) AS holidays
FROM nager.countries c
JOIN worldbank.countries w ON w.iso2 = c.country
JOIN nager.holidays h ON h.country = c.country AND h.year = 2025
WHERE h.is_global
GROUP BY w.income_level
ORDER BY holidays DESC
