-- gbif and ncbi: one name in two taxonomies.
SELECT g.name, g.key AS gbif, g.family, n.id AS ncbi, t.rank, t.division
FROM gbif.names g
JOIN ncbi.names n ON n.name = g.name
JOIN ncbi.taxa t ON t.id = n.id
WHERE g.name IN ('Puma concolor', 'Echinacea purpurea', 'Quercus robur')
