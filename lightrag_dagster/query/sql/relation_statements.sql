-- What passages said of relations. Registered before: asked (id, chunk_id).
SELECT relation_id AS id, chunk_id, arg_min(description, mention_index) AS statement
FROM said_of_relation WHERE (relation_id, chunk_id) IN (FROM asked) GROUP BY ALL
