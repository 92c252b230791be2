-- Positions of every chunk in documents, in canonical order within a chunk, with the date of the document.
SELECT chunk_id, source, path, doc_id, chunk_index, page, page_end, char_start, char_end, heading,
    strftime(date, '%Y-%m-%d') AS date
FROM chunks LEFT JOIN (SELECT doc_id, date FROM documents) USING (doc_id)
ORDER BY chunk_id, source, path, chunk_index
