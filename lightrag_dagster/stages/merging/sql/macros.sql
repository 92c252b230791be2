-- What several statements share: the rules of the merge that are needed more than once. The variables are set before:
-- `whitespace`, the characters that Python strips; `summary_descriptions` and `summary_tokens`, the thresholds from which
-- descriptions are summarised; `embedder`, the identity of the embedding model; `entity_chunks` and `relation_chunks`, the
-- most chunks that a row is made from; `chunk_order`, 1 to keep the first of them in canonical order, -1 to keep the last.
CREATE MACRO strip(text) AS trim(text, getvariable('whitespace'));

CREATE MACRO text_fingerprint(descriptions, failed) AS
    left(sha256(to_json([coalesce(descriptions, []), [failed]])::VARCHAR), 32);

CREATE MACRO embedding_fingerprint(text) AS left(sha256(getvariable('embedder') || chr(10) || text), 32);

CREATE MACRO row_fingerprint(complete) AS left(sha256(to_json(complete)::VARCHAR), 32);

-- A token has at least one byte, so that most groups need no counting.
CREATE MACRO may_be_long(number, bytes) AS
    number > 1 AND (number >= getvariable('summary_descriptions') OR bytes >= getvariable('summary_tokens'));

-- True where long descriptions are joined because their summary failed, and where a description contains the separator
-- itself: merging such a row once more changes nothing.
CREATE MACRO summary_failed(description, fingerprint) AS
    contains(description, '<SEP>') AND may_be_long(len(string_split(description, '<SEP>')), strlen(description))
    AND text_fingerprint(string_split(description, '<SEP>'), NULL) <> fingerprint;

-- A backfill accepts summaries of one recipe only; otherwise `recipe` is null.
CREATE MACRO must_be_merged(description, fingerprint, recipe) AS
    summary_failed(description, fingerprint) OR coalesce(recipe <> getvariable('recipe'), false);

-- The chunks of each entity beyond the limit, of a table with entity_id, chunk_id and place.
CREATE MACRO beyond_limit(statements) AS TABLE
WITH crowded AS (
    SELECT entity_id FROM query_table(statements) GROUP BY entity_id HAVING count(*) > getvariable('entity_chunks')
)
SELECT entity_id, chunk_id
FROM (SELECT DISTINCT entity_id, chunk_id, place FROM query_table(statements) SEMI JOIN crowded USING (entity_id))
QUALIFY row_number() OVER (PARTITION BY entity_id ORDER BY place * getvariable('chunk_order'))
    > getvariable('entity_chunks');

-- The name of each entity, of a table with one row a mention: the most frequent spelling, the first in order on a tie.
CREATE MACRO elected_name(statements) AS TABLE
SELECT entity_id, name
FROM (SELECT entity_id, name, count(*) AS votes FROM query_table(statements) GROUP BY ALL)
QUALIFY row_number() OVER (PARTITION BY entity_id ORDER BY votes DESC, name) = 1;

-- What each row cites, of a table with id, chunk_id and place.
CREATE MACRO provenance(cited) AS TABLE
SELECT id, list(chunk_id ORDER BY place) AS chunk_ids,
       list_sort(list_distinct(flatten(list(doc_ids)))) AS doc_ids,
       list_sort(list_distinct(flatten(list(file_paths)))) AS file_paths,
       list_sort(list_distinct(flatten(list(sources)))) AS sources
FROM query_table(cited) JOIN place_of USING (chunk_id) GROUP BY id;
