-- Of each text: its first spelling, and the fields of its entities, then of its relationships. unit_key has the key of the
-- text of each unit; units of equal text are one. The texts of a relationship share its weight.
WITH found AS MATERIALIZED (
    SELECT row_number() OVER () AS number, *
    FROM (
        SELECT text_unit_ids::VARCHAR[] AS units, NULL::DOUBLE AS weight,
            ['entity', title::VARCHAR, coalesce(nullif(trim("type"::VARCHAR), ''), 'other'),
                coalesce(nullif(trim(description::VARCHAR), ''), title::VARCHAR)] AS fields
        FROM entities WHERE title IS NOT NULL
        UNION ALL
        SELECT text_unit_ids::VARCHAR[], coalesce(try_cast(weight AS DOUBLE), 1),
            ['relation', "source"::VARCHAR, target::VARCHAR, '',
                coalesce(nullif(trim(description::VARCHAR), ''), concat_ws(', ', "source", target))]
        FROM relationships WHERE "source" IS NOT NULL AND target IS NOT NULL
    )
),
found_in AS (SELECT DISTINCT "key", number FROM (SELECT number, unnest(units) AS id FROM found) JOIN unit_key USING (id)),
counted AS (SELECT *, count(*) OVER (PARTITION BY number) AS texts FROM found_in),
every_row AS (
    SELECT "key",
        -- a number that a row of an answer can have
        CASE WHEN weight IS NULL THEN fields WHEN weight > 0 AND weight / texts < 1e9
        THEN list_append(fields, format('{:.6f}', weight / texts)) ELSE list_append(fields, '1') END AS fields
    FROM counted JOIN found USING (number)
),
one_unit AS (
    SELECT "key", min("text"::VARCHAR) AS content FROM text_units JOIN unit_key ON text_units.id::VARCHAR = unit_key.id
    GROUP BY "key"
)
SELECT content, list(fields ORDER BY fields) FILTER (fields IS NOT NULL) AS rows
FROM one_unit LEFT JOIN every_row USING ("key")
GROUP BY "key", content
ORDER BY "key"
