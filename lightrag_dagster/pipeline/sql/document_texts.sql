-- doc_id and text_hash of the documents that have text; as `text_hash` in stages/documents/table.py.
SELECT
    doc_id,
    left(sha256(
        '["' || content_hash || '","' || media_type || '"'
        || CASE WHEN len(pages) > 0 THEN ',[' || array_to_string(pages, ',') || ']' ELSE '' END || ']'
    ), 32) AS text_hash
FROM now
WHERE status IN ('processed', 'duplicate', 'stale')
