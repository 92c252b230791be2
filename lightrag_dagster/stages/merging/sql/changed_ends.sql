-- The names and degrees of all entities, and the relations that changed, with those of which an end has others than before.
CREATE TEMP TABLE every_degree AS
FROM entity_degree
UNION ALL
SELECT entity_id, name, degree FROM entities_before ANTI JOIN changed_entity USING (entity_id);

CREATE TEMP TABLE other AS FROM entity_degree ANTI JOIN entities_before USING (entity_id, name, degree);

CREATE TEMP TABLE every_changed AS
FROM changed_relation
UNION
SELECT relation_id FROM relation_evidence SEMI JOIN other ON src_id = entity_id
UNION
SELECT relation_id FROM relation_evidence SEMI JOIN other ON tgt_id = entity_id;
