-- Documents and sources of each chunk that a row cites, and how many relations end at each entity.
CREATE TEMP TABLE entity_chunk AS
SELECT entity_id AS id, chunk_id, place FROM entity_statement GROUP BY ALL;

CREATE TEMP TABLE relation_chunk AS
SELECT relation_id AS id, chunk_id, place FROM relation_statement GROUP BY ALL;

CREATE TEMP TABLE place_of AS
SELECT chunk_id, list(DISTINCT doc_id ORDER BY doc_id) AS doc_ids,
       list(DISTINCT source || '/' || path ORDER BY source || '/' || path) AS file_paths,
       list(DISTINCT source ORDER BY source) AS sources
FROM chunk SEMI JOIN (SELECT chunk_id FROM entity_chunk UNION SELECT chunk_id FROM relation_chunk) USING (chunk_id)
GROUP BY chunk_id;

CREATE TEMP TABLE degree AS
SELECT id, count(*) AS degree FROM (SELECT src_id AS id FROM edge UNION ALL SELECT tgt_id FROM edge) GROUP BY id;
