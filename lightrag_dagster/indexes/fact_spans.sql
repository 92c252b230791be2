-- The days on which each fact holds. Of a subject and a relation with one answer at a time, as any of its facts says, a fact
-- holds until its valid_to, else until the next valid_from or a valid_to of the same answer; one with a valid_to alone begins
-- with the valid_from of the same answer before it, or after the one before that ended; an undated one counts only where
-- there is no dated one.
CREATE VIEW fact_spans AS
WITH said AS (
    SELECT *, coalesce(valid_from, DATE '0001-01-01') AS first,
           valid_from IS NOT NULL OR valid_to IS NOT NULL AS dated,
           coalesce(object_id, concat_ws(' ', number, unit, value_date, CASE WHEN value_kind = 'text'
               OR regexp_full_match(value, '\d{16,}') THEN lower(value) END)) AS answer
    FROM merged_facts
),
followed AS (
    SELECT * REPLACE (bool_or(single) OVER (PARTITION BY subject_id, relation) AS single),
           bool_or(dated) OVER (PARTITION BY subject_id, relation) AS any_dated,
           min(first) OVER (PARTITION BY subject_id, relation ORDER BY first
                            RANGE BETWEEN INTERVAL 1 DAY FOLLOWING AND UNBOUNDED FOLLOWING) AS next,
           max(valid_to) OVER (PARTITION BY subject_id, relation ORDER BY valid_to
                               RANGE BETWEEN UNBOUNDED PRECEDING AND INTERVAL 1 DAY PRECEDING) AS previous,
           -- Three of one order, by which rows are sorted once.
           max(valid_from) OVER same AS began, max(valid_to) OVER same AS longest,
           min(valid_to) OVER (PARTITION BY subject_id, relation, answer ORDER BY coalesce(valid_from, valid_to)
                               RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS ended
    FROM said
    WINDOW same AS (PARTITION BY subject_id, relation, answer ORDER BY coalesce(valid_from, valid_to))
)
SELECT * EXCLUDE (row_hash, first, dated, any_dated, next, previous, began, longest, ended),
       coalesce(valid_from, CASE WHEN single AND dated THEN greatest(began, (previous + INTERVAL 1 DAY)::DATE) END)
           AS holds_from,
       coalesce(valid_to, CASE WHEN single THEN least((next - INTERVAL 1 DAY)::DATE, ended,
                                                      CASE WHEN longest >= valid_from THEN longest END) END) AS holds_to
FROM followed WHERE NOT single OR dated OR NOT any_dated;
