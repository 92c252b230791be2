-- The files of a source, by the shard of their document.
SELECT *, shard_of(doc_id) AS shard FROM listed
