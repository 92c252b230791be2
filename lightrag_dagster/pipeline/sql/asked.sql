-- The places of chunks, by the shard of the chunk: each of those that are not known, and the first of the others, whose
-- text is not read. `known` has the chunk_id of every extraction that is kept, `spoken` the language of each chunk.
SELECT chunk_id, path, chunk_index, content, heading, context, language, shard_of(chunk_id) AS shard
FROM chunk LEFT JOIN spoken USING (chunk_id) ANTI JOIN known USING (chunk_id)
UNION ALL
SELECT chunk_id, min(path), 0::INTEGER, '', NULL, NULL, any_value(language), shard_of(chunk_id)
FROM chunk LEFT JOIN spoken USING (chunk_id) SEMI JOIN known USING (chunk_id)
GROUP BY chunk_id
