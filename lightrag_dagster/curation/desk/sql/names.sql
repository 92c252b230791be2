-- The names that documents have, with the number of their mentions.
CREATE TEMP TABLE extracted AS
SELECT entity_id, name, count(*) AS mentions FROM (
    SELECT entity_id, name FROM entity_evidence
    UNION ALL SELECT src_id, src FROM relation_evidence
    UNION ALL SELECT tgt_id, tgt FROM relation_evidence
) GROUP BY ALL
