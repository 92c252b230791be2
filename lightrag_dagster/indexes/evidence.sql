-- The chunks that support each entity and relation: id, chunk_id and, of entities, the number of mentions. The arguments
-- name tables of evidence; `relations` gives the ends of each relation.
CREATE TEMP MACRO relation_chunks(relation_evidence) AS TABLE
SELECT DISTINCT relation_id AS id, chunk_id FROM query_table(relation_evidence);

-- An entity without evidence of its own is supported by the relations that end there.
CREATE TEMP MACRO entity_chunks(entity_evidence, relation_evidence) AS TABLE
WITH related AS (
    SELECT relation_id, unnest([src_id, tgt_id]) AS entity_id FROM relations
)
SELECT entity_id AS id, chunk_id, count(*) AS mentions FROM query_table(entity_evidence) GROUP BY ALL
UNION ALL
SELECT DISTINCT entity_id, chunk_id, 0
FROM related ANTI JOIN query_table(entity_evidence) USING (entity_id) JOIN query_table(relation_evidence) USING (relation_id);
