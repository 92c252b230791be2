-- Entities and relations with several descriptions that are many, or long enough to hold the tokens: a token has at
-- least one byte, so that most groups need no counting.
SELECT 'Entity' AS kind, id, s.name, descriptions
FROM entity_description JOIN entity_spelling s ON s.entity_id = id
WHERE len(descriptions) > 1
  AND (len(descriptions) >= $descriptions
       OR list_sum(list_transform(descriptions, lambda text: strlen(text))) >= $tokens)
UNION ALL
SELECT 'Relation', id, a.name || ' — ' || b.name, descriptions
FROM relation_description
JOIN relation_group g ON g.relation_id = id
JOIN entity_spelling a ON a.entity_id = g.src_id
JOIN entity_spelling b ON b.entity_id = g.tgt_id
WHERE len(descriptions) > 1
  AND (len(descriptions) >= $descriptions
       OR list_sum(list_transform(descriptions, lambda text: strlen(text))) >= $tokens)
ORDER BY kind, id
