-- Chunks to be labelled: some of each source, length and recipe in turn, in the order of a hash.
WITH text AS (
    SELECT DISTINCT ON (chunk) gold_name(content) AS chunk, source, chunk_id, doc_id, path, content, e.recipe,
        ntile(3) OVER (PARTITION BY source ORDER BY tokens) AS length
    FROM every_chunk JOIN every_extraction e USING (source, chunk_id)
    ORDER BY chunk, source, chunk_id
)
SELECT chunk, source, chunk_id, doc_id, source || '/' || path AS place, content
FROM text ANTI JOIN known USING (chunk)
ORDER BY row_number() OVER (PARTITION BY source, length, recipe ORDER BY sha256(chunk)), sha256(chunk)
LIMIT $count
