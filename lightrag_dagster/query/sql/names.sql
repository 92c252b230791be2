-- Every name of every entity, with the number of passages that use it, and of those that mention the entity. As in the
-- merge, the ends of relations count only for an entity that has no mentions of its own. Registered before: written_name.
WITH ending AS (
    SELECT src_id AS entity_id, src AS name, chunk_id FROM said_of_relation
    UNION ALL SELECT tgt_id, tgt, chunk_id FROM said_of_relation
),
said AS (
    SELECT entity_id, name, chunk_id, true AS own FROM said_of_entity
    UNION ALL SELECT entity_id, name, chunk_id, false FROM ending
),
-- Grouped before it is counted, since a count of distinct texts does not spill to the disk.
cited AS (
    SELECT entity_id, name, bool_or(own) AS own FROM said GROUP BY entity_id, name, chunk_id
),
counted AS (
    SELECT entity_id, name, count(*) FILTER (own) AS own_passages, count(*) AS all_passages FROM cited GROUP BY ALL
),
named AS (
    SELECT entity_id, name,
           if(sum(own_passages) OVER (PARTITION BY entity_id) > 0, own_passages, all_passages) AS passages
    FROM counted
    UNION ALL
    SELECT entity_id, name, 0 FROM written_name w
    SEMI JOIN counted USING (entity_id) ANTI JOIN counted c ON c.entity_id = w.entity_id AND c.name = w.name
)
SELECT entity_id, name, passages, sum(passages) OVER (PARTITION BY entity_id) AS mentioned FROM named
