-- The most frequent names of entities. Registered before: asked (entity_id).
SELECT entity_id, list(name ORDER BY passages DESC, name)[:$most] AS names
FROM known_name SEMI JOIN asked USING (entity_id)
GROUP BY entity_id
