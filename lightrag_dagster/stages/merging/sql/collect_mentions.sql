-- The mentions that count, with the position of their chunk. The views of mentions may hold those of some chunks only.
CREATE TEMP TABLE entity_evidence AS
SELECT n.entity_id, m.chunk_id, m.mention_index, p.source, p.doc_id, p.path, m.extraction_key,
       m.name, m.type, m.description, p.place
FROM entity_mention m
SEMI JOIN chosen_extraction USING (chunk_id, source, extraction_key)
JOIN position p ON m.chunk_id = p.chunk_id
JOIN entity_name n ON m.name = n.name;

CREATE TEMP TABLE relation_evidence AS
SELECT 'rel-' || left(sha256(least(a.entity_id, b.entity_id) || '|' || greatest(a.entity_id, b.entity_id)), 32)
           AS relation_id,
       m.chunk_id, m.mention_index, p.source, p.doc_id, p.path, m.extraction_key,
       m.src, m.tgt, m.keywords, m.description, m.weight, p.place,
       least(a.entity_id, b.entity_id) AS src_id, greatest(a.entity_id, b.entity_id) AS tgt_id,
       a.entity_id AS first_id, b.entity_id AS second_id
FROM relation_mention m
SEMI JOIN chosen_extraction USING (chunk_id, source, extraction_key)
JOIN position p ON m.chunk_id = p.chunk_id
JOIN entity_name a ON m.src = a.name
JOIN entity_name b ON m.tgt = b.name
WHERE a.entity_id <> b.entity_id;

CREATE TEMP TABLE affected_entity AS
SELECT entity_id FROM entity_evidence
UNION SELECT src_id FROM relation_evidence
UNION SELECT tgt_id FROM relation_evidence;
