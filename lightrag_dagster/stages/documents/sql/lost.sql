-- The documents with text in a view `before`, and those of which neither path nor text is in a view `now`:
-- before, lost, the first path lost, now.
WITH kept AS (
    SELECT doc_id, path, content_hash FROM before WHERE status IN ('processed', 'duplicate', 'stale')
), said AS (
    SELECT DISTINCT content_hash FROM now WHERE status IN ('processed', 'duplicate', 'stale')
), lost AS (
    SELECT path FROM kept ANTI JOIN now USING (doc_id) ANTI JOIN said USING (content_hash)
)
SELECT
    (SELECT count(*) FROM kept),
    (SELECT count(*) FROM lost),
    (SELECT min(path) FROM lost),
    (SELECT count(*) FROM now)
