-- Of the chunks of $source: how many follow a row of an earlier source, by that source and the recipe of the row.
SELECT followed, recipe, count(*)
FROM (
    SELECT chunk_id, min_by(source, source) AS followed, min_by(recipe, source) AS recipe
    FROM extractions
    WHERE status <> 'failed'
    GROUP BY chunk_id
    HAVING bool_or(source = $source)
)
WHERE followed <> $source
GROUP BY followed, recipe
ORDER BY followed, recipe
