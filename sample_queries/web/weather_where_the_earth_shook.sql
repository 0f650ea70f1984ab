-- usgs and openmeteo: what the weather was where the earth shook.
SELECT q.time, q.magnitude, q.place, w.temperature_mean, w.precipitation
FROM usgs.earthquakes q
JOIN openmeteo.history w ON w.latitude = q.latitude AND w.longitude = q.longitude
WHERE q.starttime = DATE'2024-01-01' AND q.endtime = DATE'2024-01-08' AND q.minmagnitude = 6
  AND w.start_date = DATE'2024-01-01' AND w.end_date = DATE'2024-01-01'
