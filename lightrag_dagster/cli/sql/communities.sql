-- The communities of a level, the largest first, with the names that have the most relations.
SELECT any_value(c.name) AS name, any_value(c.size) AS size, any_value(c.relations) AS relations,
    list(e.name ORDER BY e.degree DESC, entity_id)[:$members] AS entities
FROM (SELECT *, unnest(entity_ids) AS entity_id FROM communities WHERE level = $level) c
JOIN entities e USING (entity_id)
GROUP BY community_id ORDER BY size DESC, community_id
