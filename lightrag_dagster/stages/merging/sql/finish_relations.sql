-- The rows of `relations`.
WITH complete AS (
    SELECT relation_id, src_id, tgt_id, src, tgt, keywords, description, summary_recipe, weight,
           chunk_ids, doc_ids, file_paths, sources, mention_count, chunk_count, document_count, capped, rank,
           descriptions_hash,
           embedding_key(getvariable('embedder'), relation_text(keywords, src, tgt, description))
               AS embedding_key
    FROM described_relation
)
SELECT *, row_hash(complete) AS row_hash FROM complete ORDER BY relation_id
