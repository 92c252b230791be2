-- Check tables and vectors: each SELECT returns the rows that break a rule, as problem and id.
-- It runs after integrity_macros.sql, and reads the views of a generation and
-- stored_<vector table> (id, embedding_key).
-- Each SELECT is a statement of its own, so that its memory is free before the next one runs.

CREATE TEMP VIEW distinct_chunks AS SELECT DISTINCT chunk_id FROM chunks;

CREATE TEMP VIEW documents AS SELECT DISTINCT doc_id FROM raw_documents;

CREATE TEMP VIEW cited_chunks AS
    SELECT entity_id AS id, unnest(chunk_ids) AS chunk_id FROM entities
    UNION ALL SELECT relation_id, unnest(chunk_ids) FROM relations
    UNION ALL SELECT entity_id, chunk_id FROM entity_evidence
    UNION ALL SELECT relation_id, chunk_id FROM relation_evidence;

CREATE TEMP VIEW cited_documents AS
    SELECT entity_id AS id, unnest(doc_ids) AS doc_id FROM entities
    UNION ALL SELECT relation_id, unnest(doc_ids) FROM relations
    UNION ALL SELECT entity_id, doc_id FROM entity_evidence
    UNION ALL SELECT relation_id, doc_id FROM relation_evidence
    UNION ALL SELECT chunk_id, doc_id FROM chunks;

CREATE TEMP VIEW endpoints AS
    SELECT relation_id, src_id AS entity_id FROM relations
    UNION ALL SELECT relation_id, tgt_id FROM relations;

CREATE TEMP VIEW wanted_vectors AS
    SELECT 'chunk_vectors' AS store, chunk_id AS id,
        embedding_key(getvariable('identity'), any_value(passage(content, context))) AS embedding_key
    FROM chunks GROUP BY chunk_id
    UNION ALL SELECT 'entity_vectors', entity_id, embedding_key FROM entities
    UNION ALL SELECT 'relation_vectors', relation_id, embedding_key FROM relations;

CREATE TEMP VIEW stored_vectors AS
    SELECT 'chunk_vectors' AS store, id, embedding_key FROM stored_chunk_vectors
    UNION ALL SELECT 'entity_vectors', id, embedding_key FROM stored_entity_vectors
    UNION ALL SELECT 'relation_vectors', id, embedding_key FROM stored_relation_vectors;

SELECT 'a relation ends at an entity that does not exist' AS problem, relation_id AS id
FROM endpoints ANTI JOIN entities USING (entity_id);

SELECT 'a chunk is cited that does not exist' AS problem, id
FROM cited_chunks ANTI JOIN distinct_chunks USING (chunk_id);

SELECT 'a document is cited that does not exist' AS problem, id
FROM cited_documents ANTI JOIN documents USING (doc_id);

SELECT 'evidence names an entity that does not exist' AS problem, entity_id AS id
FROM entity_evidence ANTI JOIN entities USING (entity_id);

SELECT 'evidence names a relation that does not exist' AS problem, relation_id AS id
FROM relation_evidence ANTI JOIN relations USING (relation_id);

SELECT 'two entities have one id' AS problem, entity_id AS id
FROM entities GROUP BY entity_id HAVING count(*) > 1;

SELECT 'two relations have one id' AS problem, relation_id AS id
FROM relations GROUP BY relation_id HAVING count(*) > 1;

SELECT 'two documents have one id' AS problem, doc_id AS id
FROM raw_documents GROUP BY doc_id HAVING count(*) > 1;

SELECT 'two texts have one chunk id' AS problem, chunk_id AS id
FROM chunks GROUP BY chunk_id HAVING count(DISTINCT (content, context)) > 1;

SELECT if(missing > 0, 'a row has no vector of its text in ', 'a vector belongs to no row, in ') || store AS problem, id
FROM differences('wanted_vectors', 'stored_vectors');
