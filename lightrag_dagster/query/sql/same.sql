-- The entities that documents, or people, call just so.
SELECT entity_id, arg_max(name, passages) AS name, 1 AS rank, 1.0 AS likeness, count(*) OVER () AS found, count(*) OVER () AS same
FROM known_name WHERE fold = $fold
GROUP BY entity_id ORDER BY max(mentioned) DESC, entity_id
LIMIT $most
