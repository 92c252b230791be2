SELECT source, path, doc_id, title, content, pages, date::VARCHAR AS date, author, status, error
FROM raw_documents WHERE doc_id = getvariable('id') OR source || '/' || path = getvariable('id')
