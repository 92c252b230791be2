-- The rows of `merged_facts`: one for all evidence of a fact. Registered before: fact_evidence, end_degree.
WITH merged AS (
    SELECT fact_id, subject_id, relation, object_id, min(value) AS value, any_value(value_kind) AS value_kind,
           any_value(number) AS number, any_value(unit) AS unit, any_value(value_date) AS value_date,
           min(when_words) AS when_words, any_value(valid_from) AS valid_from,
           any_value(from_precision) AS from_precision, any_value(valid_to) AS valid_to,
           any_value(to_precision) AS to_precision, bool_or(single) AS single,
           list_sort(list(DISTINCT pass)) AS passes, list_sort(list(DISTINCT chunk_id)) AS chunk_ids,
           list_sort(list(DISTINCT source)) AS sources, count(*) AS mention_count
    FROM fact_evidence GROUP BY fact_id, subject_id, relation, object_id
),
name AS (SELECT DISTINCT entity_id, name FROM end_degree),
complete AS (
    SELECT fact_id, subject_id, s.name AS subject, relation, object_id, o.name AS object,
           m.* EXCLUDE (fact_id, subject_id, relation, object_id)
    FROM merged m JOIN name s ON subject_id = s.entity_id LEFT JOIN name o ON object_id = o.entity_id
)
SELECT *, row_hash(complete) AS row_hash FROM complete ORDER BY fact_id
