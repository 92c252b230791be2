-- Chunks of an earlier version that documents of another shard can take over, since their text was cut before, by the
-- settings of the same rule: with the shard of the document that needs them. `document` has doc_id and text_hash of every
-- document that has text, `rule` the number of the rule of each that has one.
WITH here AS (
    SELECT DISTINCT doc_id, text_hash, number FROM earlier LEFT JOIN rule USING (doc_id)
), new AS (
    SELECT doc_id, text_hash, number
    FROM document ANTI JOIN here USING (doc_id, text_hash) LEFT JOIN rule USING (doc_id)
), original AS (
    SELECT text_hash, coalesce(number, -1) AS number, min(doc_id) AS doc_id
    FROM here SEMI JOIN new USING (text_hash) GROUP BY ALL
), wanted AS (
    SELECT DISTINCT original.doc_id, shard_of(new.doc_id) AS shard
    FROM new JOIN original ON new.text_hash = original.text_hash AND coalesce(new.number, -1) = original.number
    WHERE shard_of(original.doc_id) <> shard_of(new.doc_id)
)
SELECT earlier.*, shard FROM earlier JOIN wanted USING (doc_id)
