-- The rows of `fact_evidence`: facts under the ids of their entities. Those of removed entities and relations, and of an
-- entity with itself, are left out. Equal facts have one id: what they say in normal form, and when it holds.
-- Registered before: chosen_fact, entity_name, split_chunk, removed.
CREATE TEMP TABLE fact_evidence AS
WITH named AS (
    SELECT f.*, if(s.chunk_id IS NULL, a.entity_id, s.entity_id) AS subject_id,
           if(t.chunk_id IS NULL, b.entity_id, t.entity_id) AS object_id
    FROM chosen_fact f
    JOIN entity_name a ON f.subject = a.name
    LEFT JOIN entity_name b ON f.object = b.name
    LEFT JOIN split_chunk s ON f.chunk_id = s.chunk_id AND a.base_id = s.base_id
    LEFT JOIN split_chunk t ON f.chunk_id = t.chunk_id AND b.base_id = t.base_id
)
SELECT 'fact-' || text_digest(to_json([
           subject_id, relation, object_id, value_kind, number::VARCHAR, unit, value_date::VARCHAR,
           CASE WHEN value_kind = 'text' THEN lower(nfc_normalize(value)) END,
           valid_from::VARCHAR, from_precision, valid_to::VARCHAR, to_precision
       ])::VARCHAR) AS fact_id, *
FROM named
WHERE subject_id IS NOT NULL AND (object IS NULL OR object_id <> subject_id)
  AND NOT coalesce(relation_id(subject_id, object_id) IN (SELECT id FROM removed), false);
