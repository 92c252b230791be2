-- The rows of `relations`.
WITH complete AS (
    SELECT relation_id, src_id, tgt_id, src, tgt, keywords, description, summary_recipe, weight,
           chunk_ids, doc_ids, file_paths, sources, mention_count, chunk_count, document_count, capped, rank,
           text_fingerprint,
           embedding_fingerprint(getvariable('embedder'), relation_text(keywords, src, tgt, description))
               AS embedding_fingerprint
    FROM described_relation
)
SELECT *, row_fingerprint(complete) AS row_fingerprint FROM complete ORDER BY relation_id
