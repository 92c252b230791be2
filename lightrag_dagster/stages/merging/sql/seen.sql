-- Evidence that was chosen and dealt before, of what may be seen: at the first position of its chunk that may be seen.
CREATE TEMP TABLE chosen AS
SELECT chunk_id, p.first[1] AS source, p.first[2] AS path, p.first[3] AS chunk_index, p.first[4] AS doc_id
FROM (SELECT chunk_id, min((source, path, chunk_index, doc_id)) AS first FROM chunk GROUP BY chunk_id) p;

CREATE TEMP TABLE entity_evidence AS
SELECT m.* REPLACE (c.source AS source, c.doc_id AS doc_id, c.path AS path), c.chunk_index
FROM entity_mention m JOIN chosen c USING (chunk_id);

CREATE TEMP TABLE relation_evidence AS
SELECT m.* REPLACE (c.source AS source, c.doc_id AS doc_id, c.path AS path), c.chunk_index
FROM relation_mention m JOIN chosen c USING (chunk_id);
