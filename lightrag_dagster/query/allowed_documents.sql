-- The documents that pass every filter that is given; an empty list, or no time, lets everything pass.
SELECT doc_id
FROM raw_documents
WHERE (len($sources::VARCHAR[]) = 0 OR list_contains($sources, source))
  AND (len($paths::VARCHAR[]) = 0 OR len(list_filter($paths::VARCHAR[], lambda pattern: path GLOB pattern)) > 0)
  AND (len($media_types::VARCHAR[]) = 0 OR list_contains($media_types, media_type))
  AND (len($documents::VARCHAR[]) = 0 OR list_contains($documents, doc_id))
  AND ($modified_since::TIMESTAMPTZ IS NULL OR modified_at >= $modified_since::TIMESTAMPTZ)
