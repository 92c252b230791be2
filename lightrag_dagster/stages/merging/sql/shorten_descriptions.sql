-- Without a model, descriptions over the threshold are cut to the longest that need no summary.
INSERT INTO summary
SELECT id, array_to_string(descriptions[:greatest(getvariable('summary_descriptions') - 1, 1)], '<SEP>'), NULL, NULL
FROM (
    SELECT entity_id AS id, descriptions FROM entity_group
    UNION ALL
    SELECT relation_id, descriptions FROM relation_group
)
WHERE len(descriptions) > 1 AND len(descriptions) >= getvariable('summary_descriptions');
