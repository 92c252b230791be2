-- Names and ends of all that is not touched.
INSERT INTO entity_spelling SELECT entity_id, name FROM entities_before ANTI JOIN touched_entity USING (entity_id);

INSERT INTO edge SELECT src_id, tgt_id FROM relations_before ANTI JOIN touched_relation USING (relation_id);
