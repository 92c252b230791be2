-- Each distinct chunk counts once: at its first canonical position, under the current extraction key if it has
-- mentions under that key, else under the first key in canonical order. The views of mentions may hold those of some
-- chunks only.
CREATE TABLE position AS
SELECT chunk_id, source, doc_id, path, row_number() OVER (ORDER BY source, path, chunk_index) AS place
FROM chunk
QUALIFY row_number() OVER (PARTITION BY chunk_id ORDER BY source, path, chunk_index) = 1;

CREATE TABLE chosen_key AS
WITH labelled AS (
    SELECT source, chunk_id, extraction_key FROM entity_mention
    UNION
    SELECT source, chunk_id, extraction_key FROM relation_mention
)
SELECT chunk_id, extraction_key, source AS mention_source
FROM labelled
QUALIFY row_number() OVER (
    PARTITION BY chunk_id
    ORDER BY extraction_key <> left(sha256('["' || chunk_id || '","' || $extraction_fingerprint || '"]'), 32),
             source, extraction_key
) = 1;

CREATE TABLE entity_evidence AS
SELECT n.entity_id, m.chunk_id, m.mention_index, p.source, p.doc_id, p.path, m.extraction_key,
       m.name, m.type, m.description, p.place
FROM entity_mention m
JOIN chosen_key k ON m.chunk_id = k.chunk_id AND m.extraction_key = k.extraction_key AND m.source = k.mention_source
JOIN position p ON m.chunk_id = p.chunk_id
JOIN entity_name n ON m.name = n.name;

CREATE TABLE relation_evidence AS
SELECT 'rel-' || left(sha256(least(a.entity_id, b.entity_id) || '|' || greatest(a.entity_id, b.entity_id)), 32)
           AS relation_id,
       m.chunk_id, m.mention_index, p.source, p.doc_id, p.path, m.extraction_key,
       m.src, m.tgt, m.keywords, m.description, m.weight, p.place,
       least(a.entity_id, b.entity_id) AS src_id, greatest(a.entity_id, b.entity_id) AS tgt_id,
       a.entity_id AS first_id, b.entity_id AS second_id
FROM relation_mention m
JOIN chosen_key k ON m.chunk_id = k.chunk_id AND m.extraction_key = k.extraction_key AND m.source = k.mention_source
JOIN position p ON m.chunk_id = p.chunk_id
JOIN entity_name a ON m.src = a.name
JOIN entity_name b ON m.tgt = b.name
WHERE a.entity_id <> b.entity_id;

CREATE TABLE touched_entity AS
SELECT entity_id FROM entity_evidence
UNION SELECT src_id FROM relation_evidence
UNION SELECT tgt_id FROM relation_evidence;
