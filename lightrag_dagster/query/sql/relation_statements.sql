SELECT chunk_id, arg_min(description, mention_index) AS statement FROM said_of_relation
WHERE relation_id = $row AND list_contains($chunks::VARCHAR[], chunk_id) GROUP BY chunk_id
