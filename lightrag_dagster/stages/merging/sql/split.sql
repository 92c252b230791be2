-- The entities that split names mean in each chunk. Registered before: split_rule, and split_name of the names that have
-- rules; chosen_fact. A mention that fits the rules of several entities, or of none, keeps the name's own.
CREATE TEMP MACRO fits(rule, mention) AS
    (len(rule.sources) = 0 OR list_contains(rule.sources, nfc_normalize(mention.source)))
    AND (len(rule.paths) = 0 OR len(list_filter(rule.paths, lambda one: has_path(mention.path, one))) > 0)
    AND (len(rule.types) = 0 OR coalesce(list_has_any(rule.types, [mention.type, mapped_type(mention.type)]), false));

CREATE TEMP TABLE judged_mention AS
WITH mentioned AS (
    SELECT m.chunk_id, m.mention_index, n.base_id, lower(m.type) AS type, c.source, c.path
    FROM entity_mention m
    JOIN split_name n ON m.name = n.name
    JOIN chosen c ON m.chunk_id = c.chunk_id AND m.source = c.extraction_source AND m.extraction_key = c.extraction_key
),
fitting AS (
    SELECT chunk_id, mention_index, list(DISTINCT r.into_id) AS intos, list(r.rule) AS rules
    FROM mentioned m JOIN split_rule r USING (base_id) WHERE fits(r, m) GROUP BY ALL
)
SELECT chunk_id, mention_index, base_id, type, coalesce(intos, []) AS intos, rules
FROM mentioned LEFT JOIN fitting USING (chunk_id, mention_index);

-- A relation follows the mentions of the name in its chunk if they agree; without any, the place of the chunk decides.
CREATE TEMP TABLE judged_chunk AS
WITH end_name AS (
    SELECT chunk_id, source, extraction_key, src AS name FROM relation_mention
    UNION
    SELECT chunk_id, source, extraction_key, tgt FROM relation_mention
    UNION
    SELECT chunk_id, extraction_source, chosen_key, unnest([subject, object]) FROM chosen_fact
),
related AS (
    SELECT DISTINCT m.chunk_id, n.base_id, NULL::VARCHAR AS type, c.source, c.path
    FROM end_name m
    JOIN split_name n ON m.name = n.name
    JOIN chosen c ON m.chunk_id = c.chunk_id AND m.source = c.extraction_source AND m.extraction_key = c.extraction_key
),
fitting AS (
    SELECT chunk_id, base_id, list(DISTINCT r.into_id) AS intos, list(r.rule) AS rules
    FROM related m JOIN split_rule r USING (base_id) WHERE fits(r, m) GROUP BY ALL
),
said AS (
    SELECT chunk_id, base_id, list(DISTINCT CASE WHEN len(intos) = 1 THEN intos[1] ELSE base_id END) AS intos
    FROM judged_mention GROUP BY ALL
)
SELECT chunk_id, base_id, coalesce(s.intos, f.intos, []) AS intos, if(s.intos IS NULL, f.rules, []) AS rules
FROM related LEFT JOIN said s USING (chunk_id, base_id) LEFT JOIN fitting f USING (chunk_id, base_id);

CREATE TEMP VIEW undecided AS
SELECT chunk_id FROM judged_mention WHERE len(intos) > 1
UNION ALL
SELECT chunk_id FROM judged_chunk WHERE len(intos) > 1;

-- The rules that take a mention, or, in a chunk without one, an end of a relation or fact.
CREATE TEMP VIEW taking_rule AS
SELECT unnest(rules) AS rule FROM judged_mention WHERE len(intos) = 1
UNION
SELECT unnest(rules) FROM judged_chunk WHERE len(intos) = 1;

CREATE TEMP VIEW split_mention AS
SELECT DISTINCT j.chunk_id, j.mention_index, r.entity_id
FROM judged_mention j JOIN split_rule r ON j.intos[1] = r.into_id WHERE len(j.intos) = 1;

CREATE TEMP VIEW split_chunk AS
SELECT DISTINCT j.chunk_id, j.base_id, r.entity_id
FROM judged_chunk j JOIN split_rule r ON j.intos[1] = r.into_id WHERE len(j.intos) = 1;

-- Where the mentions of a chunk do not agree, a fact follows those of its type.
CREATE TEMP VIEW split_type AS
SELECT DISTINCT j.chunk_id, j.base_id, j.type, r.entity_id
FROM judged_mention j JOIN split_rule r ON j.intos[1] = r.into_id WHERE len(j.intos) = 1;
