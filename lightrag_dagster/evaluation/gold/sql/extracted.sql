-- What was extracted from each passage, in the columns of a gold file. A unit stands behind a number alone: elsewhere
-- the value as written has it.
SELECT DISTINCT chunk, 'entity' AS kind, name, '' AS other, type, '' AS relation, '' AS value
FROM entity_mentions JOIN located USING (source, chunk_id)
UNION ALL
SELECT DISTINCT chunk, 'relation', src, tgt, '', '', '' FROM relation_mentions JOIN located USING (source, chunk_id)
UNION ALL
SELECT DISTINCT chunk, 'fact', subject, coalesce(object, ''), '', relation,
    trim(concat_ws(' ', value, CASE WHEN regexp_full_match(trim(value), '[-+\d., ]+') THEN unit END))
FROM facts JOIN located USING (source, chunk_id)
ORDER BY ALL
