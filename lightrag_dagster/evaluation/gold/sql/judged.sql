-- Each row that people or a model say stands in a passage, and which of them: right is both. Kinds that no file labels
-- in a passage are left out, and so are passages that got no answer, for a reason that may pass. Types are compared of
-- the names that both have and people gave a type: the key of a type begins with that of its name. A passage of which
-- neither says anything has a row without outcome.
WITH answer AS (
    SELECT chunk, 'fact' AS kind, min(recipe) AS recipe, min(model) AS model, max(error_kind) AS error_kind
    FROM readings JOIN located USING (source, chunk_id) GROUP BY chunk
    UNION ALL
    SELECT chunk, unnest(['entity', 'type', 'relation']), recipe, model, error_kind
    FROM extractions JOIN located USING (source, chunk_id)
), stated AS (
    SELECT chunk, kind, coalesce(g.shown, f.shown) AS shown, coalesce(nullif(g.type, ''), f.type) AS type,
        CASE WHEN f.key IS NULL THEN 'missed' WHEN g.key IS NULL THEN 'wrong' ELSE 'right' END AS outcome
    FROM gold g FULL JOIN found f USING (chunk, kind, key)
    WHERE kind <> 'type' OR (chunk, split_part(key, ' ', 1)) IN (
        SELECT (g.chunk, g.key) FROM gold g JOIN found f USING (chunk, kind, key) WHERE kind = 'entity' AND g.type <> '')
)
SELECT chunk, kind, place, shown, type, outcome, source, coalesce(recipe, '') AS recipe, coalesce(model, '') AS model
FROM labelled JOIN located USING (chunk) LEFT JOIN stated USING (chunk, kind) LEFT JOIN answer USING (chunk, kind)
WHERE error_kind IS DISTINCT FROM 'transient'
ORDER BY source, chunk, kind, outcome, shown
