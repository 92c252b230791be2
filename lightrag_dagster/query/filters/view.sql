-- The evidence that some documents hold. Registered before: allowed_document (doc_id).
CREATE TABLE place AS
SELECT source, path, chunk_index, chunk_id, doc_id FROM chunks SEMI JOIN allowed_document USING (doc_id);

CREATE TABLE said_of_entity AS FROM entity_evidence SEMI JOIN place USING (chunk_id);

CREATE TABLE said_of_relation AS FROM relation_evidence SEMI JOIN place USING (chunk_id);

CREATE VIEW said_of_fact AS FROM fact_evidence SEMI JOIN place USING (chunk_id);

-- What the macro of the merge adds up.
CREATE VIEW weighed AS SELECT relation_id AS id, weight FROM said_of_relation;

