-- Compare two views, `before` and `after`, with the columns name and hash: the names that differ, and how.
SELECT
    coalesce(b.name, a.name) AS name,
    CASE WHEN b.name IS NULL THEN 'added' WHEN a.name IS NULL THEN 'removed' ELSE 'changed' END AS kind
FROM before b FULL JOIN after a USING (name)
WHERE b.hash IS DISTINCT FROM a.hash
ORDER BY name
