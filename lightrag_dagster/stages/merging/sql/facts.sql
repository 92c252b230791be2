-- The facts of the readings that count, and the mentions that they add to those of the first reading: of each chunk, the
-- entities and pairs that it does not name there. A relation has one spelling, and types of mentions have no spaces. Registered
-- before: chunk, chosen, reading, fact, entity_mention and relation_mention of these chunks; spelling.
CREATE TEMP TABLE chosen_fact AS
WITH read AS (
    SELECT chunk_id, pass, min((source, path, chunk_index, extraction_key)) AS first
    FROM chunk
    JOIN (SELECT source, chunk_id, pass, extraction_key FROM reading WHERE status <> 'failed') USING (source, chunk_id)
    GROUP BY chunk_id, pass
)
SELECT f.* REPLACE (c.source AS source, s.spelling AS relation), c.doc_id, c.path, c.extraction_source, c.extraction_key AS chosen_key
FROM fact f
JOIN read r
ON f.chunk_id = r.chunk_id AND f.pass = r.pass AND f.source = r.first[1] AND f.extraction_key = r.first[4]
JOIN chosen c ON f.chunk_id = c.chunk_id
JOIN spelling s ON f.relation = s.relation;

CREATE TEMP VIEW fact_name AS
SELECT chunk_id, extraction_source AS source, chosen_key AS extraction_key, subject AS name,
       replace(subject_type, ' ', '') AS type, words, pass, fact_index, 0 AS place
FROM chosen_fact
UNION ALL
SELECT chunk_id, extraction_source, chosen_key, object, replace(object_type, ' ', ''), words, pass, fact_index, 1
FROM chosen_fact WHERE object IS NOT NULL;

CREATE TEMP TABLE mention_beside AS
SELECT m.chunk_id, m.mention_index, m.name, lower(m.type) AS type
FROM entity_mention m SEMI JOIN chosen_fact f USING (chunk_id)
JOIN chosen c ON m.chunk_id = c.chunk_id AND m.source = c.extraction_source AND m.extraction_key = c.extraction_key;

CREATE TEMP TABLE relation_beside AS
SELECT m.chunk_id, m.mention_index, m.src, m.tgt FROM relation_mention m SEMI JOIN chosen_fact f USING (chunk_id)
JOIN chosen c ON m.chunk_id = c.chunk_id AND m.source = c.extraction_source AND m.extraction_key = c.extraction_key;
