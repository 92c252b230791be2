-- The mentions that count, with ids and the position of their chunk.
CREATE TEMP TABLE entity_evidence AS
SELECT n.entity_id, m.chunk_id, m.mention_index, c.source, c.doc_id, c.path, m.extraction_key,
       m.name, m.type, m.description, c.chunk_index
FROM entity_mention m
JOIN chosen c ON m.chunk_id = c.chunk_id AND m.source = c.extraction_source AND m.extraction_key = c.extraction_key
JOIN entity_name n ON m.name = n.name;

CREATE TEMP TABLE relation_evidence AS
SELECT relation_id(a.entity_id, b.entity_id) AS relation_id,
       m.chunk_id, m.mention_index, c.source, c.doc_id, c.path, m.extraction_key,
       m.src, m.tgt, m.keywords, m.description, m.weight, c.chunk_index, a.entity_id AS first_id, b.entity_id AS second_id
FROM relation_mention m
JOIN chosen c ON m.chunk_id = c.chunk_id AND m.source = c.extraction_source AND m.extraction_key = c.extraction_key
JOIN entity_name a ON m.src = a.name
JOIN entity_name b ON m.tgt = b.name;
-- Not a condition of the join: it lets DuckDB join all names with all names first.
DELETE FROM relation_evidence WHERE first_id = second_id;

-- Both ends of each relation that is mentioned.
CREATE TEMP VIEW endpoint AS
SELECT first_id AS entity_id, relation_id, src AS name, description, chunk_id, source, path, chunk_index
FROM relation_evidence
UNION ALL
SELECT second_id, relation_id, tgt, description, chunk_id, source, path, chunk_index FROM relation_evidence;
