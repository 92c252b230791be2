-- The texts that are embedded.
CREATE TEMP MACRO entity_text(name, description) AS name || chr(10) || description;

CREATE TEMP MACRO relation_text(keywords, src, tgt, description) AS
    keywords || chr(9) || src || chr(10) || tgt || chr(10) || description;
