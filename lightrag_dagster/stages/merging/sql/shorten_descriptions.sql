-- Without a model, descriptions over the threshold are cut to the longest that need no summary.
INSERT INTO summary
SELECT id, array_to_string(descriptions[:greatest(getvariable('summary_descriptions') - 1, 1)], '<SEP>'), NULL, NULL
FROM (FROM entity_description UNION ALL FROM relation_description)
WHERE len(descriptions) > 1 AND len(descriptions) >= getvariable('summary_descriptions');
