-- The ids of chosen documents by source: some first, the others in the order of a hash.
SELECT source, list(doc_id ORDER BY doc_id)
FROM (
    FROM read ORDER BY list_contains($first, nfc_normalize(source || '/' || path)) DESC, sha256(doc_id), source
    LIMIT $count
)
GROUP BY source ORDER BY source
