-- The rows of `relations`; rank is looked up for all rows.
WITH complete AS (
    SELECT r.relation_id, r.src_id, r.tgt_id, r.src, r.tgt, r.keywords, r.description, r.summary_recipe, r.weight,
           p.chunk_ids, p.doc_ids, p.file_paths, p.sources, r.mention_count, x.degree + y.degree AS rank,
           r.text_fingerprint,
           embedding_fingerprint(relation_text(r.keywords, r.src, r.tgt, r.description)) AS embedding_fingerprint
    FROM described_relation r
    JOIN provenance('relation_chunk') p ON p.id = r.relation_id
    JOIN degree x ON x.id = r.src_id
    JOIN degree y ON y.id = r.tgt_id
)
SELECT *, row_fingerprint(complete) AS row_fingerprint FROM complete
