-- What several statements share: the rules of the merge that are needed more than once. The variables are set before:
-- `whitespace`, the characters that Python strips; `summary_descriptions` and `summary_tokens`, the thresholds from which
-- descriptions are summarised; `embedder`, the identity of the embedding model; `entity_chunks` and `relation_chunks`, the
-- most chunks that a row is made from; `keeps_first`, whether the first of them in canonical order are kept or the last.
CREATE MACRO strip(text) AS trim(text, getvariable('whitespace'));

CREATE MACRO text_fingerprint(descriptions, failed) AS
    left(sha256(to_json([coalesce(descriptions, []), [failed]])::VARCHAR), 32);

CREATE MACRO embedding_fingerprint(text) AS left(sha256(getvariable('embedder') || chr(10) || text), 32);

CREATE MACRO row_fingerprint(complete) AS left(sha256(to_json(complete)::VARCHAR), 32);

-- A token has at least one byte, so that most groups need no counting.
CREATE MACRO may_be_long(number, bytes) AS
    number > 1 AND (number >= getvariable('summary_descriptions') OR bytes >= getvariable('summary_tokens'));

-- The chunks of each row beyond the limit, of a table with id, chunk_id and the position of the chunk.
CREATE MACRO beyond_limit(statements, most) AS TABLE
WITH crowded AS (SELECT id FROM query_table(statements) GROUP BY id HAVING count(*) > most),
ranked AS (
    SELECT id, chunk_id, row_number() OVER (PARTITION BY id ORDER BY source, path, chunk_index) AS place,
           count(*) OVER (PARTITION BY id) AS chunks
    FROM (
        SELECT DISTINCT id, chunk_id, source, path, chunk_index
        FROM query_table(statements) SEMI JOIN crowded USING (id)
    )
)
SELECT id, chunk_id FROM ranked
WHERE CASE WHEN getvariable('keeps_first') THEN place > most ELSE place <= chunks - most END;

-- The distinct descriptions of each row, the longest first.
CREATE MACRO distinct_descriptions(statements) AS TABLE
SELECT id, list(description ORDER BY length(description) DESC, description) AS descriptions
FROM (SELECT DISTINCT id, description FROM query_table(statements) WHERE description <> '') GROUP BY id;

-- What each row cites, of a table with id, chunk_id and the position of the chunk.
CREATE MACRO provenance(statements) AS TABLE
SELECT id, list(chunk_id ORDER BY source, path, chunk_index) AS chunk_ids,
       list_sort(list_distinct(flatten(list(doc_ids)))) AS doc_ids,
       list_sort(list_distinct(flatten(list(file_paths)))) AS file_paths,
       list_sort(list_distinct(flatten(list(sources)))) AS sources
FROM (SELECT DISTINCT id, chunk_id, source, path, chunk_index FROM query_table(statements))
JOIN citation USING (chunk_id)
GROUP BY id;

-- The bucket of an id, by the first bits of its hash.
CREATE MACRO bucket_of(id, bits) AS (('0x' || split_part(id, '-', 2)[:4])::INTEGER >> (16 - bits));
