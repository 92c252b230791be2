-- Rules that several statements share, or Python has as well: change both, tests/storage/test_macros.py compares them. Every database that
-- storage/duckdb.py opens has these macros, as have those of the merge and of filters.

-- core.identity: ids and keys.
CREATE MACRO text_digest(text) AS left(sha256(text), 32);

CREATE MACRO relation_id(one, other) AS 'rel-' || text_digest(least(one, other) || '|' || greatest(one, other));

-- All are plain ASCII, and so need no escapes in JSON.
CREATE MACRO extraction_key(chunk_id, recipe, language := NULL) AS
    text_digest('["' || chunk_id || '","' || recipe || '"' || coalesce(',"' || language || '"', '') || ']');

CREATE MACRO embedding_key(embedder, text) AS text_digest(embedder || chr(10) || text);

-- stages.documents.raw_documents: which documents have text.
CREATE MACRO has_text(status) AS status IN ('processed', 'duplicate', 'stale');

-- Paths of filters, scopes and decisions: `*` is any text, and other characters are themselves.
CREATE MACRO has_path(path, one) AS nfc_normalize(path) GLOB regexp_replace(one, '[\[?\\]', '[\0]', 'g');

-- Authors and tags of filters and scopes, in any case: lower() keeps ß, and makes every Σ a σ.
CREATE MACRO caseless(text) AS replace(replace(lower(nfc_normalize(text)), 'ß', 'ss'), 'ς', 'σ');

-- storage.tables.shards, and the parts of the merge: the number that the first bits of an id's hash make, up to 16.
CREATE MACRO leading_bits(id, bits) AS (('0x' || split_part(id, '-', 2)[:4])::INTEGER >> (16 - bits));

-- indexes.text_index.passage: a chunk as it is embedded. The texts of entities and relations are made here alone.
CREATE MACRO passage(content, context) AS coalesce(nullif(context, '') || chr(10) || chr(10), '') || content;

CREATE MACRO entity_text(name, description) AS name || chr(10) || description;

CREATE MACRO relation_text(keywords, src, tgt, description) AS
    keywords || chr(9) || src || chr(10) || tgt || chr(10) || description;
