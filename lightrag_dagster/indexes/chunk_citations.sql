-- Positions of every chunk in documents, in canonical order within a chunk.
SELECT chunk_id, source, path, doc_id, chunk_index, page, page_end, char_start, char_end, heading
FROM chunks
ORDER BY chunk_id, source, path, chunk_index
