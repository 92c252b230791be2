-- Two facts of a subject and a relation with one answer at a time that differ and share a day; both stay.
CREATE VIEW contradictions AS
SELECT a.subject_id, a.subject, a.relation, a.fact_id, b.fact_id AS other_id,
       coalesce(a.object, a.value) AS says, coalesce(b.object, b.value) AS other_says,
       greatest(a.holds_from, b.holds_from) AS shared_from, least(a.holds_to, b.holds_to) AS shared_to,
       a.chunk_ids, b.chunk_ids AS other_chunk_ids
FROM fact_spans a JOIN fact_spans b ON a.subject_id = b.subject_id AND a.relation = b.relation AND a.fact_id < b.fact_id
WHERE a.single AND b.single AND a.answer <> b.answer
  AND coalesce(a.holds_from <= b.holds_to, true) AND coalesce(b.holds_from <= a.holds_to, true);
