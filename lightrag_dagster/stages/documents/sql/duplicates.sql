-- The documents of a view `now` whose original is not the one they name: doc_id, original.
WITH kept AS (
    SELECT doc_id, path, content_hash, duplicate_of FROM now WHERE has_text(status)
), first AS (
    SELECT content_hash, arg_min(doc_id, path) AS original FROM kept GROUP BY content_hash
)
SELECT doc_id, original
FROM kept JOIN first USING (content_hash)
WHERE original <> doc_id AND duplicate_of IS DISTINCT FROM original
