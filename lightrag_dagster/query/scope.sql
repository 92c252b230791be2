-- The part of a generation that some documents support. Registered before: allowed_document (doc_id) and, with id and
-- row, entity_row, relation_row and chunk_row; set before: entity_chunks, relation_chunks, keeps_first, as the merge has
-- them. A row is made from the first, or last, of its chunks, in canonical order of those that are allowed.
CREATE TABLE chunk AS
SELECT source, path, chunk_index, chunk_id, doc_id FROM chunks SEMI JOIN allowed_document USING (doc_id);

CREATE TABLE position AS
SELECT chunk_id, row_number() OVER (ORDER BY min((source, path, chunk_index))) AS place FROM chunk GROUP BY chunk_id;

CREATE TABLE said_of_entity AS FROM entity_evidence SEMI JOIN position USING (chunk_id);

CREATE TABLE said_of_relation AS FROM relation_evidence SEMI JOIN position USING (chunk_id);

CREATE TABLE relation_chunk AS
SELECT relation_id, chunk_id, place
FROM (SELECT DISTINCT relation_id, chunk_id FROM said_of_relation) JOIN position USING (chunk_id)
QUALIFY row_number() OVER (PARTITION BY relation_id ORDER BY if(getvariable('keeps_first'), place, -place))
    <= getvariable('relation_chunks');

-- An entity without evidence of its own is supported by the relations that name it.
CREATE TABLE entity_chunk AS
WITH endpoint AS (
    SELECT DISTINCT unnest([src_id, tgt_id]) AS entity_id, chunk_id
    FROM (SELECT DISTINCT relation_id, chunk_id FROM said_of_relation) JOIN relations USING (relation_id)
),
statement AS (
    SELECT DISTINCT entity_id, chunk_id, true AS mentioned FROM said_of_entity
    UNION ALL
    SELECT entity_id, chunk_id, false FROM endpoint ANTI JOIN said_of_entity USING (entity_id)
)
SELECT entity_id, chunk_id, mentioned, place
FROM statement JOIN position USING (chunk_id)
QUALIFY row_number() OVER (PARTITION BY entity_id ORDER BY if(getvariable('keeps_first'), place, -place))
    <= getvariable('entity_chunks');
