-- The graph as tables, one view a node or relationship table of Kùzu, columns in the order of its definition.
-- A relationship's first two columns are the ids it joins. It runs after evidence.sql.

CREATE TEMP VIEW "Document" AS
SELECT doc_id, source, path, title
FROM raw_documents
WHERE has_text(status);

CREATE TEMP VIEW "Chunk" AS
SELECT chunk_id, min(tokens) AS tokens
FROM chunks
GROUP BY chunk_id;

CREATE TEMP VIEW "Entity" AS
SELECT entity_id, name, type, description, degree
FROM entities;

CREATE TEMP VIEW "HAS_CHUNK" AS
SELECT doc_id, chunk_id, chunk_index, char_start, char_end
FROM chunks;

-- An entity that only relations name has the chunks of those relations, with 0 mentions.
CREATE TEMP VIEW "MENTIONS" AS
SELECT chunk_id, id AS entity_id, mentions
FROM entity_chunks('entity_evidence', 'relation_evidence');

CREATE TEMP VIEW "RELATED" AS
SELECT src_id, tgt_id, relation_id, keywords, description, weight, rank
FROM relations;
