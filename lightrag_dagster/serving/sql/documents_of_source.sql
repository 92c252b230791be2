SELECT source || '/' || path AS document, title, content_length AS characters, date::VARCHAR AS date,
    modified_at::DATE::VARCHAR AS modified, nullif(status, 'processed') AS status, count(*) OVER () AS number
FROM raw_documents WHERE source = getvariable('id') ORDER BY path LIMIT getvariable('most') OFFSET getvariable('start')
