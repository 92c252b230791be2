-- The claims of each text unit: its text, then type, marks, subject, object, first day, last day and quotes. Marks say
-- that the status is not TRUE, and that there is no object; GraphRAG writes NONE. The types beyond the most frequent are
-- left empty.
WITH said AS (
    SELECT text_unit_id::VARCHAR AS id,
        regexp_replace(trim(coalesce(COLUMNS(
            ['type', 'status', 'subject_id', 'object_id', 'start_date', 'end_date', 'source_text']
        )::VARCHAR, '')), '^(?i)none$', '')
    FROM covariates
),
common AS (SELECT lower(left("type", 100)) AS kind FROM said GROUP BY kind ORDER BY count(*) DESC, kind LIMIT 100),
distinct_unit AS (
    SELECT id::VARCHAR AS id, min("text"::VARCHAR) AS content FROM text_units WHERE "text" IS NOT NULL GROUP BY 1
)
SELECT content, coalesce(kind, ''),
    concat_ws(', ',
        CASE upper(status) WHEN 'TRUE' THEN NULL WHEN 'FALSE' THEN 'false' WHEN 'SUSPECTED' THEN 'suspected'
        ELSE 'of unknown status' END,
        if(object_id = '', 'no object', NULL)),
    subject_id, object_id, start_date, end_date, source_text
FROM distinct_unit JOIN said USING (id) LEFT JOIN common ON lower(left("type", 100)) = kind
ORDER BY id, subject_id, kind, object_id, status, start_date, end_date, source_text
