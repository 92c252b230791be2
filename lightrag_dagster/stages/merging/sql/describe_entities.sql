-- Name, type and description of each entity.
CREATE TEMP VIEW described_entity AS
SELECT g.entity_id, g.name, g.type,
       coalesce(s.summary, array_to_string(d.descriptions, '<SEP>'), 'Entity ' || g.name) AS description,
       s.recipe AS summary_recipe, g.mention_count, text_fingerprint(d.descriptions, s.failed) AS text_fingerprint
FROM entity_group g
LEFT JOIN entity_description d ON d.id = g.entity_id
LEFT JOIN summary s ON s.id = g.entity_id;
