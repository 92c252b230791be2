-- The extraction and the position of each chunk that count. A chunk counts once, at its first position in canonical order,
-- with the extraction of its first position in a source where that did not fail, made by any prompt or model. One that only
-- passes could read counts as well.
CREATE TEMP TABLE chosen AS
WITH position AS (
    SELECT chunk_id, min((source, path, chunk_index, doc_id)) AS first FROM chunk GROUP BY chunk_id
),
answer AS (
    SELECT source, chunk_id, extraction_key FROM extraction WHERE status <> 'failed'
    UNION ALL
    SELECT source, chunk_id, extraction_key FROM reading WHERE status <> 'failed'
      AND chunk_id NOT IN (SELECT chunk_id FROM extraction WHERE status <> 'failed')
),
extracted AS (
    SELECT chunk_id, min((source, path, chunk_index, extraction_key)) AS first
    FROM chunk JOIN answer USING (source, chunk_id) GROUP BY chunk_id
)
SELECT chunk_id, p.first[1] AS source, p.first[2] AS path, p.first[3] AS chunk_index, p.first[4] AS doc_id,
       e.first[1] AS extraction_source, e.first[4] AS extraction_key
FROM position p JOIN extracted e USING (chunk_id);

-- The documents that hold each of these chunks.
CREATE TEMP TABLE citation AS
SELECT DISTINCT e.extraction_source, c.chunk_id, c.doc_id, c.source, c.path FROM chunk c JOIN chosen e USING (chunk_id);
