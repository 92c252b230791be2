SELECT name, passages FROM known_name WHERE entity_id IN (SELECT unnest($entities::VARCHAR[])) ORDER BY passages DESC, name
