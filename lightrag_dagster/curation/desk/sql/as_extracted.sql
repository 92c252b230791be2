-- The most frequent of the names that documents have for an entity that is displayed by a name.
SELECT x.name FROM entities e JOIN extracted x USING (entity_id)
WHERE e.name = $name ORDER BY mentions DESC, x.name LIMIT 1
