-- Values, each of one fact, under the names of columns that `neo4j-admin` reads as a header of nodes.
SELECT fact_id || '-value' AS "value_id:ID", value, value_kind AS kind, number AS "number:double", unit,
    value_date AS "date:date", 'Value' AS ":LABEL"
FROM merged_facts WHERE object_id IS NULL ORDER BY fact_id
