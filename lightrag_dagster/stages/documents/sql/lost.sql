-- What became of the documents with text in a view `before`: their number; how many of them are not in a view `now`, how
-- many have no text there or less than a tenth of it, how many say the same as another and did not before, how many
-- were switched off; how many are a file there that is skipped, by the same name with another suffix; the first path of
-- all these; and the number of documents with text in `now`.
-- One whose text stands in any document now is not lost, and one that failed now is judged as such.
WITH kept AS (
    SELECT doc_id, path, content_hash, content_length
    FROM before WHERE has_text(status)
), said AS (
    SELECT content_hash FROM now WHERE has_text(status)
), skipped AS (
    SELECT DISTINCT regexp_replace(path, '\.[^./]*$', '') AS stem FROM now WHERE status = 'skipped'
), changed AS (
    SELECT
        kept.*, now.doc_id IS NULL AS deleted, now.status IS NOT DISTINCT FROM 'disabled' AS off,
        now.content_hash AS hash_now, now.content_length AS length_now
    FROM kept LEFT JOIN now USING (doc_id) ANTI JOIN said ON kept.content_hash = said.content_hash
    WHERE now.status IS DISTINCT FROM 'failed'
), lost AS (
    SELECT
        path, deleted, off,
        deleted AND (path IN (FROM skipped) OR regexp_replace(path, '\.[^./]*$', '') IN (FROM skipped)) AS unreadable,
        NOT off AND (length_now = 0 OR length_now < 0.1 * content_length) AS emptied,
        dense_rank() OVER (PARTITION BY hash_now ORDER BY content_hash) > 1 AS repeating
    FROM changed
    QUALIFY deleted OR off OR emptied OR repeating
)
SELECT
    (SELECT count(*) FROM kept),
    count(*) FILTER (deleted AND NOT unreadable),
    count(*) FILTER (emptied),
    count(*) FILTER (NOT deleted AND NOT emptied AND NOT off),
    count(*) FILTER (off),
    count(*) FILTER (unreadable),
    coalesce(min(path) FILTER (NOT off), min(path)),
    (SELECT count(*) FROM said)
FROM lost
