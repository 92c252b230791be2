-- The chunks whose text a gold file names, each by the first source that has it.
SELECT DISTINCT ON (chunk) gold_name(content) AS chunk, source, chunk_id, doc_id, content, source || '/' || path AS place
FROM every_chunk SEMI JOIN wanted ON wanted.chunk = gold_name(content)
ORDER BY chunk, source, chunk_id
