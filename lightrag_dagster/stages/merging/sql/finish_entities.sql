-- The rows of `entities`; degree is counted over all relations.
WITH provenance AS (
    SELECT c.id, list(c.chunk_id ORDER BY c.place) AS chunk_ids,
           list_sort(list_distinct(flatten(list(p.doc_ids)))) AS doc_ids,
           list_sort(list_distinct(flatten(list(p.file_paths)))) AS file_paths,
           list_sort(list_distinct(flatten(list(p.sources)))) AS sources
    FROM entity_chunk c JOIN place_of p USING (chunk_id) GROUP BY c.id
),
described AS (
    SELECT g.entity_id, g.name, g.type,
           coalesce(s.summary, array_to_string(d.descriptions, '<SEP>'), 'Entity ' || g.name) AS description,
           p.chunk_ids, p.doc_ids, p.file_paths, p.sources, g.mention_count, coalesce(e.degree, 0) AS degree,
           text_fingerprint(d.descriptions, s.failed) AS text_fingerprint
    FROM entity_group g
    JOIN provenance p ON p.id = g.entity_id
    LEFT JOIN entity_description d ON d.id = g.entity_id
    LEFT JOIN summary s ON s.id = g.entity_id
    LEFT JOIN degree e ON e.id = g.entity_id
),
embedded AS (
    SELECT *, embedding_fingerprint(name || chr(10) || description) AS embedding_fingerprint
    FROM described
)
SELECT *, left(sha256(to_json(embedded)::VARCHAR), 32) AS row_fingerprint
FROM embedded
