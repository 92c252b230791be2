-- A row for each table and figure of a document, with the chunks that hold a part of it, in order. Characters.
-- DuckDB 1.0 and later can read it: so it has no lambda.
CREATE VIEW document_elements AS
WITH element AS (
    SELECT source, doc_id, path, content, pages, unnest(elements, recursive := true),
        generate_subscripts(elements, 1) - 1 AS element_index
    FROM raw_documents
)
SELECT
    e.source, e.doc_id, e.path, e.element_index, e.kind, e.caption,
    substring(any_value(e.content), e.start + 1, e."end" - e.start) AS content,
    nullif((SELECT count(*) FROM (SELECT unnest(any_value(e.pages)) AS page_start) WHERE page_start <= e.start), 0)
        AS page,
    e.start AS char_start, e."end" AS char_end,
    coalesce(list(c.chunk_id ORDER BY c.chunk_index) FILTER (c.chunk_id IS NOT NULL), []) AS chunk_ids
FROM element AS e
LEFT JOIN chunks AS c ON c.doc_id = e.doc_id AND c.char_start < e."end" AND c.char_end > e.start
GROUP BY e.source, e.doc_id, e.path, e.element_index, e.kind, e.caption, e.start, e."end";
