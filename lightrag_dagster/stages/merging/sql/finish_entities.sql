-- The rows of `entities`.
WITH complete AS (
    SELECT entity_id, name, type, description, summary_recipe, chunk_ids, doc_ids, file_paths, sources, mention_count,
           chunk_count, document_count, capped,
           degree, text_fingerprint,
           embedding_fingerprint(getvariable('embedder'), entity_text(name, description)) AS embedding_fingerprint
    FROM described_entity
)
SELECT *, row_fingerprint(complete) AS row_fingerprint FROM complete ORDER BY entity_id
