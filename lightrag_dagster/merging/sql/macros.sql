-- What several statements share. Their variables are set beforehand: `whitespace`, the characters that Python strips;
-- `text_basis`, prompt, model and settings of summaries; `summary_descriptions` and `summary_tokens`, their thresholds;
-- `embedder`, the identity of the embedding model.
CREATE MACRO strip(text) AS trim(text, getvariable('whitespace'));

CREATE MACRO text_fingerprint(descriptions, failed) AS
    left(sha256(to_json([coalesce(descriptions, []), [getvariable('text_basis'), failed]])::VARCHAR), 32);

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
