-- The rows of `fact_evidence`: facts under the ids of their entities. Those of removed entities and relations, and of an
-- entity with itself, are left out. Equal facts have one id: what they say in normal form, and when it holds. Numbers of 16
-- digits and more are told apart by their text: a double rounds them.
-- Registered before: chosen_fact, entity_name, split_chunk, split_type, removed. `fact_end` has the parts that need the name
-- of an entity.
CREATE TEMP TABLE fact_evidence AS
WITH named AS (
    SELECT f.*, CASE WHEN s.chunk_id IS NOT NULL THEN s.entity_id WHEN u.chunk_id IS NOT NULL THEN u.entity_id
                     ELSE a.entity_id END AS subject_id,
           CASE WHEN t.chunk_id IS NOT NULL THEN t.entity_id WHEN v.chunk_id IS NOT NULL THEN v.entity_id
                ELSE b.entity_id END AS object_id
    FROM chosen_fact f
    JOIN entity_name a ON f.subject = a.name
    LEFT JOIN entity_name b ON f.object = b.name
    LEFT JOIN split_chunk s ON f.chunk_id = s.chunk_id AND a.base_id = s.base_id
    LEFT JOIN split_chunk t ON f.chunk_id = t.chunk_id AND b.base_id = t.base_id
    LEFT JOIN split_type u ON f.chunk_id = u.chunk_id AND a.base_id = u.base_id AND replace(f.subject_type, ' ', '') = u.type
    LEFT JOIN split_type v ON f.chunk_id = v.chunk_id AND b.base_id = v.base_id AND replace(f.object_type, ' ', '') = v.type
)
SELECT 'fact-' || text_digest(to_json([
           subject_id, relation, object_id, value_kind, number::VARCHAR, unit, value_date::VARCHAR,
           CASE WHEN value_kind = 'text' OR regexp_full_match(value, '\d{16,}') THEN lower(nfc_normalize(value)) END,
           valid_from::VARCHAR, from_precision, valid_to::VARCHAR, to_precision
       ])::VARCHAR) AS fact_id, *
FROM named
WHERE subject_id IS NOT NULL AND (object IS NULL OR object_id <> subject_id)
  AND NOT coalesce(relation_id(subject_id, object_id) IN (SELECT id FROM removed), false);

CREATE TEMP VIEW fact_end AS
SELECT subject_id AS entity_id, part_of(fact_id) AS fact_part FROM fact_evidence
UNION
SELECT object_id, part_of(fact_id) FROM fact_evidence WHERE object_id IS NOT NULL;
