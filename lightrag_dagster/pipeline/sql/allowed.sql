-- The documents of a view that `paths` and `tags` of a scope let pass: doc_id, path, content_hash, status, whether
-- they pass that of `access` too, and whether they have text and no value of it.
SELECT
    doc_id, path, content_hash, status,
    $access IS NULL OR coalesce(list_has_any(access, $access::VARCHAR[]), false) AS passes,
    coalesce(len(access), 0) = 0 AND has_text(status) AS without
FROM documents
WHERE ($paths IS NULL OR len(list_filter(
        $paths::VARCHAR[], lambda one: has_path(path, one)
    )) > 0)
    AND ($tags IS NULL OR list_has_any(
        list_transform(tags, lambda one: caseless(one)),
        list_transform($tags::VARCHAR[], lambda one: caseless(one))
    ))
