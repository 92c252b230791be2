-- The places of chunks, by the shard of the chunk: each of those that are not known, and the first of the others, whose
-- text is not read. `known` has the chunk_id of every extraction that is kept.
SELECT chunk_id, path, chunk_index, content, heading, context, shard_of(chunk_id) AS shard
FROM chunk ANTI JOIN known USING (chunk_id)
UNION ALL
SELECT chunk_id, min(path), 0::INTEGER, '', NULL, NULL, shard_of(chunk_id)
FROM chunk SEMI JOIN known USING (chunk_id)
GROUP BY chunk_id
