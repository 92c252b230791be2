-- The texts of the chunks whose answers were not parsed before as they are, by the shard of the chunk: a row for each of
-- its places. `answer` and `earlier` are the extractions now and those that were parsed.
SELECT chunk_id, content, shard_of(chunk_id) AS shard
FROM chunk SEMI JOIN (
    SELECT chunk_id, extraction_key, status, hash(responses) AS answers FROM answer
    EXCEPT
    SELECT chunk_id, extraction_key, status, hash(responses) FROM earlier
) USING (chunk_id)
