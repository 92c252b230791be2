-- The documents of a view that a scope shows: doc_id, path, content_hash and status.
SELECT doc_id, path, content_hash, status
FROM (SELECT *, NULL::VARCHAR[] AS access FROM documents)
WHERE ($sources IS NULL OR list_contains($sources::VARCHAR[], nfc_normalize(source)))
    AND ($paths IS NULL OR len(list_filter(
        $paths::VARCHAR[], lambda one: nfc_normalize(path) GLOB one OR nfc_normalize(path) = one
    )) > 0)
    AND ($tags IS NULL OR list_has_any(
        list_transform(tags, lambda one: lower(nfc_normalize(one))),
        list_transform($tags::VARCHAR[], lambda one: lower(one))
    ))
    AND ($access IS NULL OR list_has_any(access, $access::VARCHAR[]))
