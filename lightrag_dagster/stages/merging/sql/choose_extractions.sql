-- A chunk counts once, with the extraction of its first position, in canonical order, in a source where it did not fail.
-- Which prompt or model made that extraction does not matter.
CREATE TEMP TABLE chosen_extraction AS
SELECT chunk_id, source, extraction_key
FROM chunk
JOIN (SELECT source, chunk_id, extraction_key FROM extraction WHERE status <> 'failed') USING (source, chunk_id)
QUALIFY row_number() OVER (PARTITION BY chunk_id ORDER BY source, path, chunk_index) = 1;
