-- Names and ends of the rows that are not affected.
INSERT INTO entity_spelling SELECT entity_id, name FROM entities_before ANTI JOIN affected_entity USING (entity_id);

INSERT INTO edge SELECT src_id, tgt_id FROM relations_before ANTI JOIN affected_relation USING (relation_id);
