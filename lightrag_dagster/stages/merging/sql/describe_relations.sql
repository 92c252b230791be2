-- Ends, keywords, description and weight of each relation.
CREATE TEMP VIEW described_relation AS
SELECT g.relation_id, g.src_id, g.tgt_id, a.name AS src, b.name AS tgt, coalesce(k.keywords, '') AS keywords,
       coalesce(s.summary, array_to_string(d.descriptions, '<SEP>'), a.name || ' — ' || b.name) AS description,
       s.recipe AS summary_recipe, g.weight, g.mention_count,
       text_fingerprint(d.descriptions, s.failed) AS text_fingerprint
FROM relation_group g
JOIN entity_spelling a ON a.entity_id = g.src_id
JOIN entity_spelling b ON b.entity_id = g.tgt_id
LEFT JOIN relation_keywords k ON k.relation_id = g.relation_id
LEFT JOIN relation_description d ON d.id = g.relation_id
LEFT JOIN summary s ON s.id = g.relation_id;
