-- The number of chunks, and of those among them of which every kept row failed.
SELECT count(DISTINCT chunk_id), count(DISTINCT chunk_id) FILTER (chunk_id IN (
    SELECT chunk_id FROM known GROUP BY chunk_id HAVING bool_and(status = 'failed')
))
FROM chunk
