-- The chunks with more tokens than an embedder reads, all chunks, and the share of their tokens that is not read.
SELECT count(*) FILTER (tokens > $limit), count(*), coalesce(sum(greatest(tokens - $limit, 0)) / sum(tokens), 0)
FROM (SELECT DISTINCT chunk_id, tokens FROM chunks)
