-- Each row that people or a model say stands in a passage, and which of them: right is both. Kinds that no file labels
-- in a passage are left out, and so are passages that got no answer, for a reason that may pass. A passage of which
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
    -- People who gave an entity no type say nothing of the one that was extracted.
    WHERE NOT EXISTS (SELECT 1 FROM gold u WHERE g.key IS NULL AND f.kind = 'type' AND u.kind = 'entity'
        AND u.type = '' AND u.chunk = f.chunk AND f.key = u.key || ' ' || f.type)
)
SELECT chunk, kind, shown, type, outcome, source, coalesce(recipe, '') AS recipe, coalesce(model, '') AS model
FROM labelled JOIN located USING (chunk) LEFT JOIN stated USING (chunk, kind) LEFT JOIN answer USING (chunk, kind)
WHERE error_kind IS DISTINCT FROM 'transient'
ORDER BY source, chunk, kind, outcome, shown
