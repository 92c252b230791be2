SELECT source, path, doc_id, chunk_index, content, heading, page, page_end, char_start, char_end
FROM chunks WHERE chunk_id = getvariable('id') ORDER BY source, path, chunk_index
