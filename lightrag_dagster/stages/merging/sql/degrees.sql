-- Names and degrees of a part's entities, for each part that has relations or facts of them.
SELECT entity_id, g.name, g.degree, part
FROM (SELECT entity_id, part_of(relation_id) AS part FROM endpoint UNION FROM fact_end)
JOIN entity_group g USING (entity_id)
