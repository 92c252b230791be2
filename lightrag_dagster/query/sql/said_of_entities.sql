-- What passages said of entities. Registered before: asked (entity_id, chunk_id).
SELECT entity_id, chunk_id, arg_min(description, mention_index) AS statement
FROM said_of_entity SEMI JOIN asked USING (entity_id, chunk_id)
GROUP BY entity_id, chunk_id
