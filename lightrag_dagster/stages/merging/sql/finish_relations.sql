-- The rows of `relations`; endpoint names and rank are looked up for all rows.
WITH provenance AS (
    SELECT c.id, list(c.chunk_id ORDER BY c.place) AS chunk_ids,
           list_sort(list_distinct(flatten(list(p.doc_ids)))) AS doc_ids,
           list_sort(list_distinct(flatten(list(p.file_paths)))) AS file_paths,
           list_sort(list_distinct(flatten(list(p.sources)))) AS sources
    FROM relation_chunk c JOIN place_of p USING (chunk_id) GROUP BY c.id
),
described AS (
    SELECT g.relation_id, g.src_id, g.tgt_id, a.name AS src, b.name AS tgt, coalesce(k.keywords, '') AS keywords,
           coalesce(s.summary, array_to_string(d.descriptions, '<SEP>'), a.name || ' — ' || b.name) AS description,
           g.weight, p.chunk_ids, p.doc_ids, p.file_paths, p.sources, g.mention_count,
           x.degree + y.degree AS rank,
           text_fingerprint(d.descriptions, s.failed) AS text_fingerprint
    FROM relation_group g
    JOIN provenance p ON p.id = g.relation_id
    JOIN entity_spelling a ON a.entity_id = g.src_id
    JOIN entity_spelling b ON b.entity_id = g.tgt_id
    JOIN degree x ON x.id = g.src_id
    JOIN degree y ON y.id = g.tgt_id
    LEFT JOIN relation_keywords k ON k.relation_id = g.relation_id
    LEFT JOIN relation_description d ON d.id = g.relation_id
    LEFT JOIN summary s ON s.id = g.relation_id
),
embedded AS (
    SELECT *, embedding_fingerprint(keywords || chr(9) || src || chr(10) || tgt || chr(10) || description)
                  AS embedding_fingerprint
    FROM described
)
SELECT *, left(sha256(to_json(embedded)::VARCHAR), 32) AS row_fingerprint
FROM embedded
