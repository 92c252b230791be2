-- The tables and figures of documents that overlap some chunks.
SELECT kind, caption, content, source, path, doc_id, page, char_start, char_end, chunk_ids
FROM document_elements
WHERE doc_id IN $documents AND list_has_any(chunk_ids, $chunks)
ORDER BY source, path, element_index
