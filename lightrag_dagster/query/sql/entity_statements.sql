-- What passages said of entities. Registered before: asked (id, chunk_id).
SELECT entity_id AS id, chunk_id, arg_min(description, mention_index) AS statement
FROM said_of_entity WHERE (entity_id, chunk_id) IN (FROM asked) GROUP BY ALL
