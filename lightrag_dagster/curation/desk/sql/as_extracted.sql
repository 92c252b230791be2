-- The most frequent of the names that documents have for an entity, which is displayed by another one in any case.
SELECT name FROM extracted WHERE entity_id = $entity ORDER BY mentions DESC, name LIMIT 1
