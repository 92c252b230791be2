-- Chunks of an earlier version that documents of another shard can take over, since their text was cut before: with the
-- shard of the document that needs them. `document` has doc_id and text_hash of every document that has text.
WITH here AS (
    SELECT DISTINCT doc_id, text_hash FROM earlier
), new AS (
    SELECT doc_id, text_hash FROM document ANTI JOIN here USING (doc_id, text_hash)
), original AS (
    SELECT text_hash, min(doc_id) AS doc_id FROM here SEMI JOIN new USING (text_hash) GROUP BY text_hash
), wanted AS (
    SELECT DISTINCT original.doc_id, shard_of(new.doc_id) AS shard FROM new JOIN original USING (text_hash)
)
SELECT earlier.*, shard FROM earlier JOIN wanted USING (doc_id)
