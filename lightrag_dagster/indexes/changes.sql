-- Compare the rows of two views, `before` and `after`, with the columns id, name, hash and shown, a struct of $columns:
-- those that are of $kind and differ, the first $most of them; all, if that is NULL.
WITH differing AS (
    SELECT coalesce(a.id, b.id) AS id, coalesce(a.name, b.name) AS name,
           CASE WHEN b.id IS NULL THEN 'added' WHEN a.id IS NULL THEN 'removed' ELSE 'changed' END AS change,
           to_json(b.shown) AS before, to_json(a.shown) AS after
    FROM before b FULL JOIN after a USING (id)
    WHERE b.hash IS DISTINCT FROM a.hash
),
compared AS (
    SELECT *, CASE WHEN change = 'changed'
        THEN list_filter($columns::VARCHAR[], lambda one: (before->one) IS DISTINCT FROM (after->one))
    END AS columns
    FROM differing
)
SELECT $kind AS kind, id, name, change,
    CASE WHEN change <> 'changed' THEN [] WHEN len(columns) = 0 THEN ['chunk_ids'] ELSE columns END AS columns,
    nullif(to_json(map_from_entries([(one, before->one) FOR one IN columns]))::VARCHAR, '{}') AS before,
    nullif(to_json(map_from_entries([(one, after->one) FOR one IN columns]))::VARCHAR, '{}') AS after
FROM compared
ORDER BY name, id
LIMIT $most::BIGINT
