-- wikidata and gbif: from a name to an item, and from the item's GBIF key to the species.
WITH found AS (
  SELECT i.id, i.label, CAST(i.gbif_key AS bigint) AS gbif_key
  FROM wikidata.search s JOIN wikidata.items i ON i.id = s.id
  WHERE s.text = 'Puma concolor' AND i.gbif_key IS NOT NULL
)
SELECT f.id, f.label, g.canonical_name, g.family
FROM found f JOIN gbif.species g ON g.key = f.gbif_key
