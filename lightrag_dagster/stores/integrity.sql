-- Invariant I5: each row says what is wrong, how many times, and the first of them. Sound tables give no row.
-- Beside the views of a generation and of its graph it reads what the stores hold: stored_<vector table> (id,
-- embedding_fingerprint), stored_<node table> (id), forward_<relationship> and backward_<relationship> (src, tgt).

WITH distinct_chunks AS (SELECT DISTINCT chunk_id FROM chunks),
documents AS (SELECT DISTINCT doc_id FROM raw_documents),
cited_chunks AS (
    SELECT entity_id AS id, unnest(chunk_ids) AS chunk_id FROM entities
    UNION ALL SELECT relation_id, unnest(chunk_ids) FROM relations
    UNION ALL SELECT entity_id, chunk_id FROM entity_evidence
    UNION ALL SELECT relation_id, chunk_id FROM relation_evidence
),
cited_documents AS (
    SELECT entity_id AS id, unnest(doc_ids) AS doc_id FROM entities
    UNION ALL SELECT relation_id, unnest(doc_ids) FROM relations
    UNION ALL SELECT entity_id, doc_id FROM entity_evidence
    UNION ALL SELECT relation_id, doc_id FROM relation_evidence
    UNION ALL SELECT chunk_id, doc_id FROM chunks
),
endpoints AS (
    SELECT relation_id, src_id AS entity_id FROM relations
    UNION ALL SELECT relation_id, tgt_id FROM relations
),
wanted_vectors AS (
    SELECT 'chunk_vectors' AS store, chunk_id AS id,
        left(sha256($identity || chr(10) || any_value(content)), 32) AS embedding_fingerprint
    FROM chunks GROUP BY chunk_id
    UNION ALL SELECT 'entity_vectors', entity_id, embedding_fingerprint FROM entities
    UNION ALL SELECT 'relation_vectors', relation_id, embedding_fingerprint FROM relations
),
stored_vectors AS (
    SELECT 'chunk_vectors' AS store, id, embedding_fingerprint FROM stored_chunk_vectors
    UNION ALL SELECT 'entity_vectors', id, embedding_fingerprint FROM stored_entity_vectors
    UNION ALL SELECT 'relation_vectors', id, embedding_fingerprint FROM stored_relation_vectors
),
wanted_nodes AS (
    SELECT 'Document' AS store, doc_id AS id FROM "Document"
    UNION ALL SELECT 'Chunk', chunk_id FROM "Chunk"
    UNION ALL SELECT 'Entity', entity_id FROM "Entity"
),
stored_nodes AS (
    SELECT 'Document' AS store, id FROM "stored_Document"
    UNION ALL SELECT 'Chunk', id FROM "stored_Chunk"
    UNION ALL SELECT 'Entity', id FROM "stored_Entity"
),
wanted_edges AS (
    SELECT 'HAS_CHUNK' AS store, doc_id AS src, chunk_id AS tgt FROM "HAS_CHUNK"
    UNION ALL SELECT 'MENTIONS', chunk_id, entity_id FROM "MENTIONS"
    UNION ALL SELECT 'RELATED', src_id, tgt_id FROM "RELATED"
),
forward_edges AS (
    SELECT 'HAS_CHUNK' AS store, src, tgt FROM "forward_HAS_CHUNK"
    UNION ALL SELECT 'MENTIONS', src, tgt FROM "forward_MENTIONS"
    UNION ALL SELECT 'RELATED', src, tgt FROM "forward_RELATED"
),
backward_edges AS (
    SELECT 'HAS_CHUNK' AS store, src, tgt FROM "backward_HAS_CHUNK"
    UNION ALL SELECT 'MENTIONS', src, tgt FROM "backward_MENTIONS"
    UNION ALL SELECT 'RELATED', src, tgt FROM "backward_RELATED"
),
problems AS (
    SELECT 'a relation ends at an entity that does not exist' AS problem, relation_id AS id
    FROM endpoints ANTI JOIN entities USING (entity_id)
    UNION ALL
    SELECT 'a chunk is cited that does not exist', id
    FROM cited_chunks ANTI JOIN distinct_chunks USING (chunk_id)
    UNION ALL
    SELECT 'a document is cited that does not exist', id
    FROM cited_documents ANTI JOIN documents USING (doc_id)
    UNION ALL
    SELECT 'evidence names an entity that does not exist', entity_id
    FROM entity_evidence ANTI JOIN entities USING (entity_id)
    UNION ALL
    SELECT 'evidence names a relation that does not exist', relation_id
    FROM relation_evidence ANTI JOIN relations USING (relation_id)
    UNION ALL
    SELECT 'two entities have one id', entity_id FROM entities GROUP BY entity_id HAVING count(*) > 1
    UNION ALL
    SELECT 'two relations have one id', relation_id FROM relations GROUP BY relation_id HAVING count(*) > 1
    UNION ALL
    SELECT 'two documents have one id', doc_id FROM raw_documents GROUP BY doc_id HAVING count(*) > 1
    UNION ALL
    SELECT 'two texts have one chunk id', chunk_id FROM chunks GROUP BY chunk_id HAVING count(DISTINCT content) > 1
    UNION ALL
    SELECT 'a row has no vector of its text in ' || store, id
    FROM (FROM wanted_vectors EXCEPT ALL FROM stored_vectors)
    UNION ALL
    SELECT 'a vector belongs to no row, in ' || store, id
    FROM (FROM stored_vectors EXCEPT ALL FROM wanted_vectors)
    UNION ALL
    SELECT 'a row is missing from the graph, of ' || store, id
    FROM (FROM wanted_nodes EXCEPT ALL FROM stored_nodes)
    UNION ALL
    SELECT 'a node of the graph belongs to no row, of ' || store, id
    FROM (FROM stored_nodes EXCEPT ALL FROM wanted_nodes)
    UNION ALL
    SELECT 'an edge is missing from the graph read forwards, of ' || store, src || ' to ' || tgt
    FROM (FROM wanted_edges EXCEPT ALL FROM forward_edges)
    UNION ALL
    SELECT 'an edge of the graph read forwards belongs to no row, of ' || store, src || ' to ' || tgt
    FROM (FROM forward_edges EXCEPT ALL FROM wanted_edges)
    UNION ALL
    SELECT 'an edge is missing from the graph read backwards, of ' || store, src || ' to ' || tgt
    FROM (FROM wanted_edges EXCEPT ALL FROM backward_edges)
    UNION ALL
    SELECT 'an edge of the graph read backwards belongs to no row, of ' || store, src || ' to ' || tgt
    FROM (FROM backward_edges EXCEPT ALL FROM wanted_edges)
)
SELECT problem, count(*) AS times, min(id) AS first
FROM problems
GROUP BY problem
ORDER BY problem
