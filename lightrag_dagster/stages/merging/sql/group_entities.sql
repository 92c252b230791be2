-- The parts of an entity's row. An entity that only relations name takes spelling, descriptions and provenance
-- from those relations, and counts no mention.
CREATE TEMP TABLE entity_statement AS
WITH endpoint AS (
    SELECT first_id AS entity_id, src AS name, chunk_id, description, place FROM relation_evidence
    UNION ALL
    SELECT second_id, tgt, chunk_id, description, place FROM relation_evidence
)
SELECT entity_id, name, lower(type) AS type, strip(description) AS description, chunk_id, place, true AS mentioned
FROM entity_evidence
UNION ALL
SELECT entity_id, name, 'unknown', strip(description), chunk_id, place, false
FROM endpoint SEMI JOIN affected_entity USING (entity_id) ANTI JOIN entity_evidence USING (entity_id);

DELETE FROM entity_statement
WHERE (entity_id, chunk_id) IN (SELECT (entity_id, chunk_id) FROM beyond_limit('entity_statement'));

CREATE TEMP TABLE entity_spelling AS
FROM elected_name('entity_statement');

CREATE TEMP TABLE entity_type AS
SELECT entity_id, type FROM (SELECT entity_id, type, count(*) AS votes FROM entity_statement GROUP BY ALL)
QUALIFY row_number() OVER (PARTITION BY entity_id ORDER BY votes DESC, type) = 1;

CREATE TEMP TABLE entity_description AS
SELECT entity_id AS id, list(description ORDER BY length(description) DESC, description) AS descriptions
FROM (SELECT DISTINCT entity_id, description FROM entity_statement WHERE description <> '') GROUP BY entity_id;

CREATE TEMP TABLE entity_group AS
SELECT entity_id, s.name, t.type, count(*) FILTER (mentioned) AS mention_count
FROM entity_statement JOIN entity_spelling s USING (entity_id) JOIN entity_type t USING (entity_id)
GROUP BY ALL;
