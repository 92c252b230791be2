SELECT source, count(*) AS documents, sum(content_length)::BIGINT AS characters
FROM raw_documents GROUP BY source ORDER BY source
