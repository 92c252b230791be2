-- The groups with their descriptions joined, or with the summary of them.
CREATE TEMP VIEW described_entity AS
SELECT g.*, coalesce(s.summary, array_to_string(descriptions, '<SEP>'), 'Entity ' || g.name) AS description,
       s.recipe AS summary_recipe, descriptions_hash(descriptions, s.failed) AS descriptions_hash
FROM entity_group g LEFT JOIN summary s ON s.id = g.entity_id;
