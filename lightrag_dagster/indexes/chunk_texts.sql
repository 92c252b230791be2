-- One row a distinct chunk. Its id is a hash of text and context, so any of its positions gives the same ones.
SELECT chunk_id, any_value(content) AS content, any_value(context) AS context,
    any_value(tokens) AS tokens
FROM chunks
GROUP BY chunk_id
ORDER BY chunk_id
