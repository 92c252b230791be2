-- Of the chunks of $source: how many follow a row of an earlier source that another recipe made, by that source.
SELECT followed, count(*)
FROM (
    SELECT chunk_id, min_by(source, source) AS followed, min_by(recipe, source) AS recipe
    FROM extractions
    WHERE status <> 'failed'
    GROUP BY chunk_id
    HAVING bool_or(source = $source)
)
WHERE followed <> $source AND recipe <> $recipe
GROUP BY followed
ORDER BY followed
