-- The documents of the chunks that name a bucket's entities, and its relations.
CREATE TEMP VIEW entity_citation AS
SELECT bucket, chunk_id, doc_id, source, path FROM (
    SELECT bucket_of(entity_id) AS bucket, chunk_id FROM entity_evidence
    UNION
    SELECT bucket_of(entity_id), chunk_id FROM endpoint
) JOIN citation USING (chunk_id);

CREATE TEMP VIEW relation_citation AS
SELECT bucket, chunk_id, doc_id, source, path
FROM (SELECT DISTINCT bucket_of(relation_id) AS bucket, chunk_id FROM relation_evidence) JOIN citation USING (chunk_id);
