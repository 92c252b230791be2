-- What several statements share: the rules of the merge that are needed more than once. The variables are set before:
-- `whitespace`, the characters that Python strips; `summary_descriptions` and `summary_tokens`, the thresholds from which
-- descriptions are summarised; `embedder`, the identity of the embedding model; `listed_chunks`, the most chunks,
-- and documents, that a row lists; `keeps_first`, whether each source has its first ones listed or its last;
-- `types`, those that are mapped, `types_mapped`, to which, and `types_allowed`, empty if all are.
CREATE MACRO strip(text) AS trim(text, getvariable('whitespace'));

-- The type that a type as extracted stands for, and that of its entity: one that is not allowed is `other`.
CREATE MACRO mapped_type(type) AS
    coalesce(getvariable('types_mapped')[list_position(getvariable('types'), lower(type))], lower(type));

CREATE MACRO allowed_type(type) AS
    CASE WHEN len(getvariable('types_allowed')) = 0
              OR list_contains(getvariable('types_allowed'), mapped_type(type))
         THEN mapped_type(type) ELSE 'other' END;

CREATE MACRO descriptions_hash(descriptions, failed) AS
    text_digest(to_json([coalesce(descriptions, []), [failed]])::VARCHAR);

CREATE MACRO row_hash(complete) AS text_digest(to_json(complete)::VARCHAR);

-- A token has at least one byte, so that most groups need no counting.
CREATE MACRO may_be_long(number, bytes) AS
    number > 1 AND (number >= getvariable('summary_descriptions') OR bytes >= getvariable('summary_tokens'));

-- The chunks of each row, of a table with id, chunk_id and the position of the chunk.
CREATE MACRO chunks_of(statements) AS TABLE
SELECT DISTINCT id, chunk_id AS member, source, path, chunk_index FROM query_table(statements);

-- The documents of each row, of a table of its chunks.
CREATE MACRO documents_of(chunks) AS TABLE
SELECT DISTINCT c.id, d.doc_id AS member, d.source, d.path, 0 AS chunk_index
FROM query_table(chunks) c JOIN citation d ON c.member = d.chunk_id;

-- The distinct descriptions of each row, the longest first.
CREATE MACRO distinct_descriptions(statements) AS TABLE
SELECT id, list(description ORDER BY length(description) DESC, description) AS descriptions
FROM (SELECT DISTINCT id, description FROM query_table(statements) WHERE description <> '') GROUP BY id;

-- The part of an entity or relation among 2 ** `bits`.
CREATE MACRO part_of(id) AS leading_bits(id, getvariable('bits'));
