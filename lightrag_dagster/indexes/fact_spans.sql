-- The days on which each fact holds. Of a subject and a relation with one answer at a time, a fact holds until its
-- valid_to, else until the next valid_from; one with a valid_to alone begins after the one before that; an undated one
-- counts only where there is no dated one.
CREATE VIEW fact_spans AS
WITH said AS (
    SELECT *, coalesce(valid_from, DATE '0001-01-01') AS first,
           valid_from IS NOT NULL OR valid_to IS NOT NULL AS dated,
           coalesce(object_id, concat_ws(' ', number, unit, value_date, CASE value_kind WHEN 'text' THEN lower(value) END))
               AS answer
    FROM merged_facts
),
followed AS (
    SELECT *, max(dated) OVER (PARTITION BY subject_id, relation) AS any_dated,
           min(first) OVER (PARTITION BY subject_id, relation ORDER BY first
                            RANGE BETWEEN INTERVAL 1 DAY FOLLOWING AND UNBOUNDED FOLLOWING) AS next,
           max(valid_to) OVER (PARTITION BY subject_id, relation ORDER BY valid_to
                               RANGE BETWEEN UNBOUNDED PRECEDING AND INTERVAL 1 DAY PRECEDING) AS previous
    FROM said
)
SELECT * EXCLUDE (row_hash, first, dated, any_dated, next, previous),
       coalesce(valid_from, CASE WHEN single AND valid_to IS NOT NULL THEN (previous + INTERVAL 1 DAY)::DATE END) AS holds_from,
       coalesce(valid_to, CASE WHEN single THEN (next - INTERVAL 1 DAY)::DATE END) AS holds_to
FROM followed WHERE NOT single OR dated OR NOT any_dated;
