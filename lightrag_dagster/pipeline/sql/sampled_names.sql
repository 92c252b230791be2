-- Of the views `extractions`, `mention` and `all_chunk`, those chunks of each source and recipe with the smallest ids that
-- have a name, `most` of them, as the tables that the view `grounding` reads.
CREATE TEMP TABLE sample AS
SELECT source, chunk_id
FROM extractions SEMI JOIN mention USING (source, chunk_id)
QUALIFY row_number() OVER (PARTITION BY source, recipe ORDER BY chunk_id) <= getvariable('most');

CREATE TEMP VIEW chunks AS FROM all_chunk SEMI JOIN sample USING (chunk_id);

CREATE TEMP VIEW entity_evidence AS
SELECT *, '' AS entity_id FROM mention SEMI JOIN sample USING (source, chunk_id);
