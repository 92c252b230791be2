-- Entities, under the names of columns that `neo4j-admin` reads as a header of nodes.
SELECT entity_id AS "entity_id:ID", name, type, description, mention_count AS "mention_count:long",
    degree AS "degree:long", array_to_string(sources, ';') AS "sources:string[]", 'Entity' AS ":LABEL"
FROM entities ORDER BY entity_id
