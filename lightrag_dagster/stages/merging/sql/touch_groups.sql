-- What the changed chunks touch, and the rest of its evidence, which is as it was. So far, both tables of evidence hold
-- what the changed chunks say now.

-- Entities that a changed chunk names now or named before, in whatever way; a relation that comes or goes changes the
-- degree of its ends. A summary that failed is tried again: only then, or where a description holds the separator
-- itself, is the fingerprint not that of the descriptions that the row joins.
INSERT INTO touched_entity
WITH relation_before AS (SELECT relation_id FROM relation_evidence_before SEMI JOIN changed_chunk USING (chunk_id))
SELECT entity_id FROM (
    SELECT entity_id FROM entity_evidence_before SEMI JOIN changed_chunk USING (chunk_id)
    UNION SELECT src_id FROM relations_before SEMI JOIN relation_before USING (relation_id)
    UNION SELECT tgt_id FROM relations_before SEMI JOIN relation_before USING (relation_id)
    UNION SELECT entity_id FROM entities_before WHERE is_unsettled(description, text_fingerprint)
) ANTI JOIN touched_entity USING (entity_id);

INSERT INTO entity_evidence
SELECT e.*, p.place
FROM entity_evidence_before e
SEMI JOIN touched_entity USING (entity_id)
ANTI JOIN changed_chunk USING (chunk_id)
JOIN position p USING (chunk_id);

-- Relations of changed chunks; those of an entity that is called otherwise now, since they show its name; and those of an
-- entity that only relations name, since it is made of them.
CREATE TABLE touched_relation AS
WITH name_now AS (
    SELECT entity_id, name
    FROM (
        SELECT entity_id, name, count(*) AS votes
        FROM entity_evidence ANTI JOIN beyond_limit('entity_evidence') USING (entity_id, chunk_id)
        GROUP BY ALL
    )
    QUALIFY row_number() OVER (PARTITION BY entity_id ORDER BY votes DESC, name) = 1
),
renamed AS (
    SELECT t.entity_id
    FROM touched_entity t JOIN entities_before b USING (entity_id) LEFT JOIN name_now n USING (entity_id)
    WHERE n.name IS DISTINCT FROM b.name
)
SELECT relation_id FROM relation_evidence
UNION SELECT relation_id FROM relation_evidence_before SEMI JOIN changed_chunk USING (chunk_id)
UNION SELECT relation_id FROM relations_before SEMI JOIN renamed ON src_id = entity_id
UNION SELECT relation_id FROM relations_before SEMI JOIN renamed ON tgt_id = entity_id
UNION SELECT relation_id FROM relations_before WHERE is_unsettled(description, text_fingerprint);

CREATE TABLE recalled AS
SELECT e.*, p.place, b.src_id, b.tgt_id
FROM relation_evidence_before e
SEMI JOIN touched_relation USING (relation_id)
ANTI JOIN changed_chunk USING (chunk_id)
JOIN relations_before b USING (relation_id)
JOIN position p USING (chunk_id);
