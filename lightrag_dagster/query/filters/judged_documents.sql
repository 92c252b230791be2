-- Of each list of a filter, the values that a document with text meets, and whether it meets the times. A document with
-- several authors names them in one text, with commas, which one name may have too.
CREATE OR REPLACE TEMP TABLE judged AS
SELECT
    doc_id,
    nfc_normalize(source) AS source,
    date IS NULL AS undated,
    contains(translate(parse_filename(path), '_.', '--'), date::VARCHAR) AS dated_by_name,
    if(nfc_normalize(source) IN (SELECT unnest($sources::VARCHAR[])), [nfc_normalize(source)], []) AS sources,
    list_filter($paths::VARCHAR[], lambda one: has_path(path, one)) AS paths,
    list_filter($media_types::VARCHAR[], lambda one: one = lower(media_type)) AS media_types,
    if(doc_id IN (SELECT unnest($documents::VARCHAR[])), [doc_id], []) AS documents,
    list_filter(
        $authors::VARCHAR[],
        lambda one: caseless(one) = caseless(author)
            OR list_contains(string_split(caseless(author), ', '), caseless(one))
    ) AS authors,
    list_filter(
        $tags::VARCHAR[], lambda one: list_contains(list_transform(tags, lambda tag: caseless(tag)), caseless(one))
    ) AS tags,
    list_filter($languages::VARCHAR[], lambda one: one = lower(language)) AS languages,
    modified_at >= $modified_since::TIMESTAMPTZ AS modified_since,
    date >= $dated_since::DATE AS dated_since,
    date <= $dated_until::DATE AS dated_until
FROM raw_documents
WHERE has_text(status)
