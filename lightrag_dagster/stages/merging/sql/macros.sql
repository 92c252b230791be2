-- What several statements share. Their variables are set beforehand: `whitespace`, the characters that Python strips;
-- `summary_descriptions` and `summary_tokens`, from when on descriptions are summarised; `embedder`, the identity of the
-- embedding model; `entity_chunks` and `relation_chunks`, how many chunks a row is made from at most; `chunk_order`, 1
-- to keep the first of them in canonical order, -1 to keep the last.
CREATE MACRO strip(text) AS trim(text, getvariable('whitespace'));

CREATE MACRO text_fingerprint(descriptions, failed) AS
    left(sha256(to_json([coalesce(descriptions, []), [failed]])::VARCHAR), 32);

CREATE MACRO embedding_fingerprint(text) AS left(sha256(getvariable('embedder') || chr(10) || text), 32);

-- Whether descriptions are many, or long enough to hold the tokens: a token has at least one byte, so that most groups
-- need no counting.
CREATE MACRO may_be_long(number, bytes) AS
    number > 1 AND (number >= getvariable('summary_descriptions') OR bytes >= getvariable('summary_tokens'));

-- Whether long descriptions stand joined in a row because their summary failed. A description that holds the separator
-- looks the same; to merge it once more does no harm.
CREATE MACRO is_unsettled(description, fingerprint) AS
    contains(description, '<SEP>') AND may_be_long(len(string_split(description, '<SEP>')), strlen(description))
    AND text_fingerprint(string_split(description, '<SEP>'), NULL) <> fingerprint;

-- Which chunks of an entity are beyond the limit, of a table with entity_id, chunk_id and place.
CREATE MACRO beyond_limit(statements) AS TABLE
WITH crowded AS (
    SELECT entity_id FROM query_table(statements) GROUP BY entity_id HAVING count(*) > getvariable('entity_chunks')
)
SELECT entity_id, chunk_id
FROM (SELECT DISTINCT entity_id, chunk_id, place FROM query_table(statements) SEMI JOIN crowded USING (entity_id))
QUALIFY row_number() OVER (PARTITION BY entity_id ORDER BY place * getvariable('chunk_order'))
    > getvariable('entity_chunks');
