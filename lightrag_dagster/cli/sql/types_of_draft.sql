-- The most frequent types of entities, with the number of names.
SELECT type, count(*) FROM entities WHERE type NOT IN ('', 'other') GROUP BY ALL ORDER BY count(*) DESC, type LIMIT 20
