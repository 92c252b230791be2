-- The text of each text unit, and the fields of its entities, then of its relationships, whose weight its units share.
WITH entity_row AS (
    SELECT unnest(list_distinct(text_unit_ids)) AS id,
        ['entity', title, coalesce(nullif(trim("type"), ''), 'other'),
            coalesce(nullif(trim(description), ''), title)] AS fields
    FROM entities WHERE title IS NOT NULL
),
relation_row AS (
    SELECT unnest(units) AS id,
        ['relation', "source", target, '', coalesce(nullif(trim(description), ''), concat_ws(', ', "source", target)),
            -- a number that a row of an answer can have
            if(share > 0 AND share < 1e9, format('{:.6f}', share), '1')] AS fields
    FROM (
        SELECT *, list_distinct(text_unit_ids) AS units,
            coalesce(try_cast(weight AS DOUBLE), 1) / len(units) AS share
        FROM relationships WHERE "source" IS NOT NULL AND target IS NOT NULL
    )
),
every_row AS (FROM entity_row UNION ALL FROM relation_row),
distinct_unit AS (SELECT id, any_value("text") AS content FROM text_units WHERE "text" IS NOT NULL GROUP BY id)
SELECT content, list(fields ORDER BY fields) FILTER (fields IS NOT NULL) AS rows
FROM distinct_unit LEFT JOIN every_row USING (id)
GROUP BY id, content
ORDER BY id
