-- Rows of a generation whose summary today's recipe did not make, or whose joined descriptions may be too many or too
-- long: `long_row`. Of a sample, in order of their hashes, the distinct descriptions, as the merge gives them to a model:
-- `long_group`. An entity that only relations name has the descriptions of these.
CREATE TEMP TABLE long_row AS
WITH merged AS (
    SELECT 'Entity' AS kind, entity_id AS id, name, description, summary_recipe, chunk_ids FROM entities
    UNION ALL
    SELECT 'Relation', relation_id, src || ' — ' || tgt, description, summary_recipe, chunk_ids FROM relations
)
SELECT kind, id, name, chunk_ids FROM merged
WHERE CASE WHEN summary_recipe IS NULL
    THEN contains(description, '<SEP>')
         AND (len(string_split(description, '<SEP>')) >= getvariable('descriptions')
              OR strlen(description) >= getvariable('tokens'))
    ELSE summary_recipe <> getvariable('recipe') END;

CREATE TEMP TABLE sampled AS FROM long_row ORDER BY substr(id, 5), id LIMIT getvariable('sample');

CREATE TEMP TABLE long_group AS
WITH said AS (
    SELECT entity_id AS id, chunk_id, description FROM entity_evidence SEMI JOIN sampled ON entity_id = id
    UNION ALL
    SELECT relation_id, chunk_id, description FROM relation_evidence SEMI JOIN sampled ON relation_id = id
    UNION ALL
    SELECT entity, chunk_id, description
    FROM (SELECT unnest([src_id, tgt_id]) AS entity, chunk_id, description FROM relation_evidence)
    SEMI JOIN sampled ON entity = id
    ANTI JOIN entity_evidence ON entity = entity_id
), listed AS (
    SELECT DISTINCT kind, id, name, trim(description) AS text FROM sampled JOIN said USING (id)
    WHERE list_contains(chunk_ids, chunk_id) AND trim(description) <> ''
)
SELECT kind, id, any_value(name) AS name, list(text ORDER BY length(text) DESC, text) AS descriptions
FROM listed GROUP BY kind, id ORDER BY kind, id;
