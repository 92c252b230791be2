-- The facts of a snapshot as questions read them, by id: when each holds, what contradicts it, and its first evidence; the
-- undated ones that do not count hold on no day. Registered before: merged_facts, fact_evidence; fact_spans, contradictions.
WITH pair AS (
    SELECT fact_id, other_id FROM contradictions UNION ALL SELECT other_id, fact_id FROM contradictions
),
against AS (SELECT fact_id, min(other_id, 10) AS contradicts, count(*) AS others FROM pair GROUP BY fact_id),
said AS (
    -- A type that says more goes before the one of a column that names none.
    SELECT fact_id, coalesce(min(subject_type) FILTER (subject_type <> 'thing'), 'thing') AS subject_type,
           coalesce(min(object_type) FILTER (object_type <> 'thing'), min(object_type)) AS object_type,
           list({'chunk_id': chunk_id, 'words': words, 'char_start': char_start, 'char_end': char_end}
                ORDER BY chunk_id, pass, fact_index)[:10] AS evidence
    FROM fact_evidence GROUP BY fact_id
)
SELECT m.fact_id, m.subject_id, subject_type, m.relation, m.object_id, object_type, m.value, m.value_kind, m.number, m.unit,
       m.value_date, m.when_words, m.valid_from, m.from_precision, m.valid_to, m.to_precision, s.holds_from, s.holds_to,
       s.fact_id IS NOT NULL AS counts, coalesce(contradicts, []) AS contradicts,
       coalesce(others - len(contradicts), 0) AS contradicts_left_out, m.mention_count, evidence
FROM merged_facts m JOIN said USING (fact_id) LEFT JOIN fact_spans s USING (fact_id) LEFT JOIN against USING (fact_id)
ORDER BY fact_id
