-- What the mentions of each entity yield. An entity that only relations name takes spelling, descriptions and provenance
-- from those relations, and counts no mention. All mentions count and vote, those of `thing` (of facts) last;
-- descriptions are those of the chunks listed.
-- What a person wrote takes the place of all that, but for the type of an addition (source `curation`). Registered before: written.
CREATE TEMP TABLE entity_statement AS
SELECT entity_id AS id, name, allowed_type(type) AS type, strip(description) AS description,
       chunk_id, source, path, chunk_index, true AS mentioned
FROM entity_evidence
UNION ALL
SELECT entity_id, name, 'unknown', strip(description), chunk_id, source, path, chunk_index, false
FROM endpoint ANTI JOIN entity_evidence USING (entity_id);

CREATE TEMP TABLE entity_chunk AS FROM chunks_of('entity_statement');

CREATE TEMP TABLE entity_unlisted AS FROM beyond_limit('entity_chunk', getvariable('listed_chunks'));

CREATE TEMP VIEW entity_listed AS
SELECT id, description FROM entity_statement s
ANTI JOIN entity_unlisted u ON s.id = u.id AND s.chunk_id = u.member;

CREATE TEMP TABLE entity_group AS
WITH spelling AS (
    SELECT id, name FROM (SELECT id, name, count(*) AS votes FROM entity_statement GROUP BY ALL)
    QUALIFY row_number() OVER (PARTITION BY id ORDER BY votes DESC, name) = 1
),
kind AS (
    SELECT id, type
    FROM (SELECT id, type, count(*) AS votes, bool_and(source = 'curation') AS added FROM entity_statement GROUP BY id, type)
    QUALIFY row_number() OVER (PARTITION BY id ORDER BY added, type = 'thing', votes DESC, type) = 1
),
counted AS (SELECT id, count(*) FILTER (mentioned) AS mention_count FROM entity_statement GROUP BY id),
ending AS (SELECT entity_id AS id, count(DISTINCT relation_id) AS degree FROM endpoint GROUP BY entity_id)
SELECT id AS entity_id, coalesce(w.name, s.name) AS name, coalesce(w.type, k.type) AS type,
       if(w.description IS NULL, d.descriptions, [w.description]) AS descriptions,
       c.mention_count, coalesce(e.degree, 0) AS degree
FROM counted c
JOIN spelling s USING (id)
JOIN kind k USING (id)
LEFT JOIN distinct_descriptions('entity_listed') d USING (id)
LEFT JOIN written w USING (id)
LEFT JOIN ending e USING (id);
