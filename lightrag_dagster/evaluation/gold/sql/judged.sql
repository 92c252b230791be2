-- Each row that people or a model say stands in a passage, and which of them: right is both. Kinds that no file labels
-- in a passage are left out, and so are passages that got no answer, for a reason that may pass. Types are compared of
-- the names that both have: the key of a type begins with that of its name.
WITH answer AS (
    SELECT chunk, 'fact' AS kind, min(recipe) AS recipe, min(model) AS model, max(error_kind) AS error_kind
    FROM readings JOIN located USING (source, chunk_id) GROUP BY chunk
    UNION ALL
    SELECT chunk, unnest(['entity', 'type', 'relation']), recipe, model, error_kind
    FROM extractions JOIN located USING (source, chunk_id)
)
SELECT chunk, kind, place, coalesce(g.shown, f.shown) AS shown, coalesce(g.type, f.type) AS type,
    CASE WHEN f.key IS NULL THEN 'missed' WHEN g.key IS NULL THEN 'wrong' ELSE 'right' END AS outcome,
    source, coalesce(recipe, '') AS recipe, coalesce(model, '') AS model
FROM gold g FULL JOIN found f USING (chunk, kind, key)
JOIN labelled USING (chunk, kind) JOIN located USING (chunk) LEFT JOIN answer USING (chunk, kind)
WHERE error_kind IS DISTINCT FROM 'transient'
    AND (kind <> 'type' OR (chunk, split_part(key, ' ', 1)) IN
        (SELECT (g.chunk, g.key) FROM gold g JOIN found f USING (chunk, kind, key) WHERE kind = 'entity'))
ORDER BY source, chunk, kind, outcome, shown
