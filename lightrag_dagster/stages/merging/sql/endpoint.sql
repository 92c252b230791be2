-- Both ends of each relation that is mentioned.
CREATE TEMP VIEW endpoint AS
SELECT src_id AS entity_id, relation_id, src AS name, description, chunk_id, source, path, chunk_index
FROM relation_evidence
UNION ALL
SELECT tgt_id, relation_id, tgt, description, chunk_id, source, path, chunk_index FROM relation_evidence;
