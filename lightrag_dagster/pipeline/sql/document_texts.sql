-- doc_id and text_hash of the documents that have text.
SELECT doc_id, text_hash(content_hash, media_type, pages) AS text_hash FROM now WHERE has_text(status)
