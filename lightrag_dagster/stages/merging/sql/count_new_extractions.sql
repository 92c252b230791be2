-- At least so many chunks are changed: the last merge did not read an extraction of them that this one reads.
SELECT count(DISTINCT chunk_id)
FROM (SELECT DISTINCT chunk_id, extraction_key FROM entity_mentions_now)
ANTI JOIN (SELECT DISTINCT chunk_id, extraction_key FROM entity_mentions_before) USING (chunk_id, extraction_key);
