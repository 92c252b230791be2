-- The texts that are embedded; of chunks as `passage` in query/context.py.
CREATE TEMP MACRO chunk_text(context, content) AS coalesce(context || chr(10) || chr(10), '') || content;

CREATE TEMP MACRO entity_text(name, description) AS name || chr(10) || description;

CREATE TEMP MACRO relation_text(keywords, src, tgt, description) AS
    keywords || chr(9) || src || chr(10) || tgt || chr(10) || description;
