-- The language of each chunk's first document in order of path; empty if it is unknown. No rows without documents.
SELECT chunk_id, min_by(coalesce(document.language, ''), chunk.path) AS language
FROM chunk JOIN document USING (doc_id)
GROUP BY chunk_id
