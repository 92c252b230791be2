-- Two facts of a subject and a relation with one answer at a time that differ and share a day; both stay. In order of time, a
-- fact is compared with the ten before it that end last, so with all that still hold if these are no more, lest many facts of a
-- relation that is wrongly said to be single make the square of their number. The joins are by place alone for the same reason.
CREATE VIEW contradictions AS
WITH placed AS MATERIALIZED (
    SELECT *, row_number() OVER (ORDER BY subject_id, relation, holds_from NULLS FIRST, fact_id) AS place
    FROM fact_spans WHERE single
),
compared AS (
    SELECT place, unnest(max({'ends': coalesce(holds_to, DATE '9999-12-31'), 'place': place}, 10) OVER (
               PARTITION BY subject_id, relation ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
           )).place AS other
    FROM placed
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
