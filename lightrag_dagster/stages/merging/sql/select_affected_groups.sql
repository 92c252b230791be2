-- The groups that changed chunks affect, and the evidence of unchanged chunks in them. Before this, both tables of evidence
-- hold what the changed chunks say now.

-- Entities that a changed chunk names now or named before; the ends of a relation that comes or goes, since their degree
-- changes; and rows whose summary must be made again.
INSERT INTO affected_entity
WITH relation_before AS (SELECT relation_id FROM relation_evidence_before SEMI JOIN changed_chunk USING (chunk_id))
SELECT entity_id FROM (
    SELECT entity_id FROM entity_evidence_before SEMI JOIN changed_chunk USING (chunk_id)
    UNION SELECT src_id FROM relations_before SEMI JOIN relation_before USING (relation_id)
    UNION SELECT tgt_id FROM relations_before SEMI JOIN relation_before USING (relation_id)
    UNION SELECT entity_id FROM entities_before WHERE must_be_merged(description, text_fingerprint, summary_recipe)
) ANTI JOIN affected_entity USING (entity_id);

INSERT INTO entity_evidence
SELECT e.*, p.place
FROM entity_evidence_before e
SEMI JOIN affected_entity USING (entity_id)
ANTI JOIN changed_chunk USING (chunk_id)
JOIN position p USING (chunk_id);

-- Relations of changed chunks; those of an entity whose name changes, since they show it; those of an entity that only
-- relations name, since it is made of them; and rows whose summary must be made again.
CREATE TEMP TABLE statement_within_limit AS
FROM entity_evidence ANTI JOIN beyond_limit('entity_evidence') USING (entity_id, chunk_id);

CREATE TEMP TABLE affected_relation AS
WITH renamed AS (
    SELECT entity_id
    FROM affected_entity JOIN entities_before b USING (entity_id)
    LEFT JOIN elected_name('statement_within_limit') n USING (entity_id)
    WHERE n.name IS DISTINCT FROM b.name
)
SELECT relation_id FROM relation_evidence
UNION SELECT relation_id FROM relation_evidence_before SEMI JOIN changed_chunk USING (chunk_id)
UNION SELECT relation_id FROM relations_before SEMI JOIN renamed ON src_id = entity_id
UNION SELECT relation_id FROM relations_before SEMI JOIN renamed ON tgt_id = entity_id
UNION SELECT relation_id FROM relations_before WHERE must_be_merged(description, text_fingerprint, summary_recipe);

CREATE TEMP TABLE unchanged_relation_evidence AS
SELECT e.*, p.place, b.src_id, b.tgt_id
FROM relation_evidence_before e
SEMI JOIN affected_relation USING (relation_id)
ANTI JOIN changed_chunk USING (chunk_id)
JOIN relations_before b USING (relation_id)
JOIN position p USING (chunk_id);
