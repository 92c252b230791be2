-- Facts, from what they are about to an entity or a value, as relationships of the type that the schema names.
SELECT subject_id AS ":START_ID", coalesce(object_id, fact_id || '-value') AS ":END_ID", fact_id,
    valid_from AS "valid_from:date", from_precision, valid_to AS "valid_to:date", to_precision, when_words,
    single AS "single:boolean", mention_count AS "mention_count:long", array_to_string(sources, ';') AS "sources:string[]",
    relation AS ":TYPE"
FROM merged_facts ORDER BY fact_id
