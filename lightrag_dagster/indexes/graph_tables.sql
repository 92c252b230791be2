-- The graph as tables, one view a node or relationship table of Kùzu, columns in the order of its definition.
-- A relationship's first two columns are the ids it joins.

CREATE TEMP VIEW "Document" AS
SELECT doc_id, source, path, title
FROM raw_documents
WHERE status IN ('processed', 'duplicate', 'stale');

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

-- An entity that only relations name has no evidence of its own: its chunks are cited, with 0 mentions.
CREATE TEMP VIEW "MENTIONS" AS
SELECT chunk_id, entity_id, sum(mentions)::BIGINT AS mentions
FROM (
    SELECT chunk_id, entity_id, 1 AS mentions FROM entity_evidence
    UNION ALL
    SELECT unnest(chunk_ids) AS chunk_id, entity_id, 0 AS mentions FROM entities
)
GROUP BY chunk_id, entity_id;

CREATE TEMP VIEW "RELATED" AS
SELECT src_id, tgt_id, relation_id, keywords, description, weight, rank
FROM relations;
