-- The mentions that count, with ids and the position of their chunk. Mentions of removed entities have no id.
CREATE TEMP TABLE entity_evidence AS
SELECT if(s.chunk_id IS NULL, n.entity_id, s.entity_id) AS entity_id, m.chunk_id, m.mention_index,
       c.source, c.doc_id, c.path, m.extraction_key, m.name, m.type, m.description, c.chunk_index
FROM entity_mention m
JOIN chosen c ON m.chunk_id = c.chunk_id AND m.source = c.extraction_source AND m.extraction_key = c.extraction_key
JOIN entity_name n ON m.name = n.name
LEFT JOIN split_mention s ON m.chunk_id = s.chunk_id AND m.mention_index = s.mention_index;

CREATE TEMP TABLE relation_evidence AS
SELECT relation_id(src_id, tgt_id) AS relation_id, * FROM (
    SELECT m.chunk_id, m.mention_index, c.source, c.doc_id, c.path, m.extraction_key,
           if(s.chunk_id IS NULL, a.entity_id, s.entity_id) AS src_id,
           if(t.chunk_id IS NULL, b.entity_id, t.entity_id) AS tgt_id,
           m.src, m.tgt, concat_ws(',', nullif(m.keywords, ''), k.keywords) AS keywords, m.description, m.weight,
           c.chunk_index
    FROM relation_mention m
    JOIN chosen c
    ON m.chunk_id = c.chunk_id AND m.source = c.extraction_source AND m.extraction_key = c.extraction_key
    JOIN entity_name a ON m.src = a.name
    JOIN entity_name b ON m.tgt = b.name
    LEFT JOIN fact_keyword k ON m.chunk_id = k.chunk_id AND m.mention_index = k.mention_index
    LEFT JOIN split_chunk s ON m.chunk_id = s.chunk_id AND a.base_id = s.base_id
    LEFT JOIN split_chunk t ON m.chunk_id = t.chunk_id AND b.base_id = t.base_id
);

CREATE TEMP TABLE removed_relation AS
SELECT DISTINCT relation_id FROM relation_evidence SEMI JOIN removed ON relation_id = id;

-- Not conditions of the joins: they let DuckDB join all names with all names first.
DELETE FROM entity_evidence WHERE entity_id IS NULL;
DELETE FROM relation_evidence
WHERE src_id = tgt_id OR src_id IS NULL OR tgt_id IS NULL OR relation_id IN (SELECT id FROM removed);
