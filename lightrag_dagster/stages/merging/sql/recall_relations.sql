INSERT INTO relation_evidence
SELECT r.*, a.entity_id, b.entity_id
FROM recalled r JOIN entity_name a ON r.src = a.name JOIN entity_name b ON r.tgt = b.name;
