-- The groups with their descriptions joined, or with the summary of them.
CREATE TEMP VIEW described_relation AS
SELECT g.*, coalesce(s.summary, array_to_string(descriptions, '<SEP>'), g.src || ' — ' || g.tgt) AS description,
       s.recipe AS summary_recipe, descriptions_hash(descriptions, s.failed) AS descriptions_hash
FROM relation_group g LEFT JOIN summary s ON s.id = g.relation_id;
