-- Pairs of facts that contradict each other, each with what it says and a document that says it.
WITH said AS (
    SELECT fact_id, min(source || '/' || path) AS place FROM fact_evidence GROUP BY fact_id
)
SELECT subject, relation, says, a.place, other_says, b.place AS other_place, shared_from, count(*) OVER () AS pairs
FROM contradictions c JOIN said a USING (fact_id) JOIN said b ON b.fact_id = c.other_id
ORDER BY subject, relation, shared_from, says, other_says, c.fact_id, c.other_id LIMIT $most
