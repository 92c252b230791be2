-- Entities and relations whose descriptions may be too many or too long to be joined, and the summary that the last merge
-- kept of the same descriptions under the same name.
CREATE TEMP TABLE long_group AS
SELECT 'Entity' AS kind, entity_id AS id, name, descriptions FROM entity_group
WHERE may_be_long(len(descriptions), list_sum(list_transform(descriptions, lambda text: strlen(text))))
UNION ALL
SELECT 'Relation', relation_id, src || ' — ' || tgt, descriptions FROM relation_group
WHERE may_be_long(len(descriptions), list_sum(list_transform(descriptions, lambda text: strlen(text))));

CREATE TEMP TABLE kept_summary AS
WITH row_before AS (
    SELECT entity_id AS id, name, description, summary_recipe, descriptions_hash FROM entities_before
    UNION ALL
    SELECT relation_id, src || ' — ' || tgt, description, summary_recipe, descriptions_hash FROM relations_before
)
SELECT g.id, b.description AS summary, b.summary_recipe AS recipe
FROM long_group g JOIN row_before b
ON g.id = b.id AND g.name = b.name AND descriptions_hash(g.descriptions, NULL) = b.descriptions_hash
WHERE b.summary_recipe IS NOT NULL AND b.summary_recipe = coalesce(getvariable('recipe'), b.summary_recipe);
