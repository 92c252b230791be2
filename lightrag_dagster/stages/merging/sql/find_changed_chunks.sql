-- The chunks of which a position, an extraction or a mention is not what it was. The views hold the files that only this
-- merge or only the last one reads.
CREATE TEMP TABLE changed_chunk AS
SELECT chunk_id
FROM chunks_now AS now FULL JOIN chunks_before AS before USING (source, path, chunk_index, chunk_id)
WHERE now.doc_id IS DISTINCT FROM before.doc_id
UNION
SELECT chunk_id
FROM extractions_now AS now FULL JOIN extractions_before AS before USING (source, chunk_id)
WHERE now.extraction_key IS DISTINCT FROM before.extraction_key
   OR (now.status = 'failed') IS DISTINCT FROM (before.status = 'failed')
UNION
SELECT chunk_id
FROM entity_mentions_now AS now
FULL JOIN entity_mentions_before AS before USING (source, chunk_id, extraction_key, mention_index)
WHERE now.name IS DISTINCT FROM before.name OR now.type IS DISTINCT FROM before.type
   OR now.description IS DISTINCT FROM before.description
UNION
SELECT chunk_id
FROM relation_mentions_now AS now
FULL JOIN relation_mentions_before AS before USING (source, chunk_id, extraction_key, mention_index)
WHERE now.src IS DISTINCT FROM before.src OR now.tgt IS DISTINCT FROM before.tgt
   OR now.keywords IS DISTINCT FROM before.keywords OR now.description IS DISTINCT FROM before.description
   OR now.weight IS DISTINCT FROM before.weight;
