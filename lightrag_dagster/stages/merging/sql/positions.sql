-- The first position of each distinct chunk in canonical order.
CREATE TEMP TABLE position AS
SELECT chunk_id, source, doc_id, path, row_number() OVER (ORDER BY source, path, chunk_index) AS place
FROM chunk
QUALIFY row_number() OVER (PARTITION BY chunk_id ORDER BY source, path, chunk_index) = 1;
