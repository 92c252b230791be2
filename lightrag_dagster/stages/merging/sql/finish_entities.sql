-- The rows of `entities`; degree is counted over all relations.
WITH complete AS (
    SELECT e.entity_id, e.name, e.type, e.description, e.summary_recipe,
           p.chunk_ids, p.doc_ids, p.file_paths, p.sources, e.mention_count, coalesce(d.degree, 0) AS degree,
           e.text_fingerprint,
           embedding_fingerprint(entity_text(e.name, e.description)) AS embedding_fingerprint
    FROM described_entity e
    JOIN provenance('entity_chunk') p ON p.id = e.entity_id
    LEFT JOIN degree d ON d.id = e.entity_id
)
SELECT *, row_fingerprint(complete) AS row_fingerprint FROM complete
