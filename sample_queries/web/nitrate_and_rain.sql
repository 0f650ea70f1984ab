-- waterquality and openmeteo: nitrate in the Patuxent, and the rain of the day it was measured.
SELECT r.day, r.value, r.unit, w.precipitation
FROM waterquality.results r JOIN openmeteo.history w ON w.day = r.day
WHERE r.site = 'USGS-01594440' AND r.characteristic = 'Nitrate'
  AND w.latitude = 38.96 AND w.longitude = -76.69
  AND w.start_date = DATE'2010-01-01' AND w.end_date = DATE'2019-12-31'
