-- The documents that pass every filter that is given; an empty list, or no time, lets everything pass. A document with
-- several authors names them in one text, with commas.
SELECT doc_id
FROM raw_documents
WHERE (len($sources::VARCHAR[]) = 0 OR list_contains($sources, source))
  AND (len($paths::VARCHAR[]) = 0 OR len(list_filter($paths::VARCHAR[], lambda pattern: path GLOB pattern)) > 0)
  AND (len($media_types::VARCHAR[]) = 0 OR list_contains($media_types, media_type))
  AND (len($documents::VARCHAR[]) = 0 OR list_contains($documents, doc_id))
  AND ($modified_since::TIMESTAMPTZ IS NULL OR modified_at >= $modified_since::TIMESTAMPTZ)
  AND (len($authors::VARCHAR[]) = 0
       OR list_has_any(string_split(lower(author), ', '), list_transform($authors::VARCHAR[], lambda name: lower(name))))
  AND (len($tags::VARCHAR[]) = 0
       OR list_has_any(list_transform(tags, lambda tag: lower(tag)), list_transform($tags::VARCHAR[], lambda tag: lower(tag))))
  AND (len($languages::VARCHAR[]) = 0 OR list_contains($languages, language))
  AND ($dated_since::DATE IS NULL OR date >= $dated_since::DATE)
  AND ($dated_until::DATE IS NULL OR date <= $dated_until::DATE)
