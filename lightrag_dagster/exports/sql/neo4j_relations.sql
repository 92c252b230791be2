-- Relations, under the names of columns that `neo4j-admin` reads as a header of relationships.
SELECT src_id AS ":START_ID", tgt_id AS ":END_ID", relation_id, keywords, description, weight AS "weight:double",
    mention_count AS "mention_count:long", array_to_string(sources, ';') AS "sources:string[]",
    'RELATED' AS ":TYPE"
FROM relations ORDER BY relation_id
