-- Entities and relations whose descriptions may be too many or too long to be joined.
CREATE TABLE long_group AS
SELECT 'Entity' AS kind, id, s.name, descriptions
FROM entity_description JOIN entity_spelling s ON s.entity_id = id
WHERE may_be_long(len(descriptions), list_sum(list_transform(descriptions, lambda text: strlen(text))))
UNION ALL
SELECT 'Relation', id, a.name || ' — ' || b.name, descriptions
FROM relation_description
JOIN relation_group g ON g.relation_id = id
JOIN entity_spelling a ON a.entity_id = g.src_id
JOIN entity_spelling b ON b.entity_id = g.tgt_id
WHERE may_be_long(len(descriptions), list_sum(list_transform(descriptions, lambda text: strlen(text))));
