-- The rows of `entities`.
WITH complete AS (
    SELECT entity_id, name, type, description, summary_recipe, chunk_ids, doc_ids, file_paths, sources, mention_count,
           chunk_count, document_count, capped,
           degree, descriptions_hash,
           embedding_key(getvariable('embedder'), entity_text(name, description)) AS embedding_key
    FROM described_entity
)
SELECT *, row_hash(complete) AS row_hash FROM complete ORDER BY entity_id
