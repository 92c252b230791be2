-- The first place of each chunk among those that count. Read: place (source, path, chunk_index, chunk_id) and
-- chunk_row (id, row).
CREATE TEMP TABLE position AS
SELECT chunk_id, r.row, dense_rank() OVER (ORDER BY first[1])::INTEGER AS source,
       row_number() OVER (ORDER BY first)::INTEGER AS position
FROM (SELECT chunk_id, min((source, path, chunk_index)) AS first FROM place GROUP BY chunk_id)
JOIN chunk_row r ON chunk_id = r.id;
