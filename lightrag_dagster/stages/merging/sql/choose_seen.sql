-- Of evidence that was chosen before, what may be seen: at its first position of those that may be seen.
CREATE TEMP TABLE chosen AS
WITH position AS (
    SELECT chunk_id, min((source, path, chunk_index, doc_id)) AS first FROM chunk GROUP BY chunk_id
),
evidence AS (
    SELECT chunk_id, source, extraction_key FROM entity_mention
    UNION
    SELECT chunk_id, source, extraction_key FROM relation_mention
)
SELECT chunk_id, p.first[1] AS source, p.first[2] AS path, p.first[3] AS chunk_index, p.first[4] AS doc_id,
       e.source AS extraction_source, e.extraction_key
FROM position p JOIN evidence e USING (chunk_id);
