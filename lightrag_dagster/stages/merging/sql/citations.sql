-- The documents of the chunks that name a part's entities, and its relations.
CREATE TEMP VIEW entity_citation AS
SELECT part, chunk_id, doc_id, source, path FROM (
    SELECT part_of(entity_id) AS part, chunk_id FROM entity_evidence
    UNION
    SELECT part_of(entity_id), chunk_id FROM endpoint
) JOIN citation USING (chunk_id);

CREATE TEMP VIEW relation_citation AS
SELECT part, chunk_id, doc_id, source, path
FROM (SELECT DISTINCT part_of(relation_id) AS part, chunk_id FROM relation_evidence) JOIN citation USING (chunk_id);
