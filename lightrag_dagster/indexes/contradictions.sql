-- Two facts of a subject and a relation with one answer at a time that differ and share a day; both stay. A fact is compared
-- with the ten before it, in order of time, and with that of all before it which holds longest, lest many facts of a relation
-- that is wrongly said to be single make the square of their number. The joins are by place alone for the same reason.
CREATE VIEW contradictions AS
WITH placed AS MATERIALIZED (
    SELECT *, row_number() OVER (ORDER BY subject_id, relation, holds_from NULLS FIRST, fact_id) AS place
    FROM fact_spans WHERE single
),
grouped AS (
    SELECT place, min(place) OVER (PARTITION BY subject_id, relation) AS start,
           arg_max(place, coalesce(holds_to, DATE '9999-12-31')) OVER (
               PARTITION BY subject_id, relation ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
           ) AS longest
    FROM placed
),
compared AS (
    SELECT place, unnest(range(greatest(start, place - 10), place)) AS other FROM grouped
    UNION
    SELECT place, longest FROM grouped WHERE longest IS NOT NULL
),
pair AS MATERIALIZED (
    SELECT place, other FROM compared
    UNION ALL
    SELECT other, place FROM compared
)
SELECT a.subject_id, a.subject, a.relation, a.fact_id, b.fact_id AS other_id,
       coalesce(a.object, a.value) AS says, coalesce(b.object, b.value) AS other_says,
       greatest(a.holds_from, b.holds_from) AS shared_from, least(a.holds_to, b.holds_to) AS shared_to,
       a.chunk_ids, b.chunk_ids AS other_chunk_ids
FROM pair p JOIN placed a ON p.place = a.place JOIN placed b ON p.other = b.place
WHERE a.fact_id < b.fact_id AND a.answer <> b.answer
  AND coalesce(a.holds_from <= b.holds_to, true) AND coalesce(b.holds_from <= a.holds_to, true);
