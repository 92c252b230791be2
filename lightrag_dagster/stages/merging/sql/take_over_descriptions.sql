-- What the last merge made of the same descriptions under the same name, be it a summary or not.
INSERT INTO summary
WITH row_before AS (
    SELECT entity_id AS id, name, description, text_fingerprint FROM entities_before
    UNION ALL
    SELECT relation_id, src || ' — ' || tgt, description, text_fingerprint FROM relations_before
)
SELECT g.id, b.description, NULL
FROM long_group g JOIN row_before b
ON g.id = b.id AND g.name = b.name AND text_fingerprint(g.descriptions, NULL) = b.text_fingerprint;

DELETE FROM long_group WHERE id IN (SELECT id FROM summary);
