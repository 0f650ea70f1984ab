-- wdqs and worldbank: what Wikidata and the World Bank say of the population of the same country.
SELECT c.name, c.capital, c.population AS wikidata, s.value AS worldbank
FROM wdqs.countries c
JOIN worldbank.series_all_countries s ON s.iso3 = c.iso3
WHERE s.indicator = 'SP.POP.TOTL' AND s.year = 2023
