-- A row a community, from `member` (`community_id`, `level`, `parent_id`, `entity_id`, and the number of the connected
-- part), `entity`, `relation` and `stop_word`; the variable `words` is the most words of a name. A community that could
-- not be divided is one with its parent.
CREATE TEMP TABLE community AS
SELECT community_id, min(level) AS level, arg_min(parent_id, level) AS parent_id FROM member GROUP BY community_id;

CREATE TEMP TABLE one AS SELECT DISTINCT community_id, entity_id, part FROM member;

CREATE TEMP TABLE inner_relation AS
SELECT s.community_id, count(*) AS relations, sum(r.weight ORDER BY r.src_id, r.tgt_id) AS weight
FROM relation r
JOIN one s ON s.entity_id = r.src_id
JOIN one t ON t.entity_id = r.tgt_id AND t.community_id = s.community_id
GROUP BY s.community_id;

-- A word of an entity counts once, however often its name and description have it.
CREATE TEMP TABLE said AS
SELECT entity_id, unnest(list_distinct(regexp_extract_all(lower(name || ' ' || description), '[\p{L}]{3,}'))) AS word
FROM entity;

-- Words tell by their part alone, so that no other part changes a name; in one that is not divided the frequent ones do.
CREATE TEMP TABLE telling AS
WITH inside AS (SELECT DISTINCT entity_id, part FROM one),
total AS (SELECT part, count(*) AS entities FROM inside GROUP BY part)
SELECT part, word, ln(1 + any_value(entities) / count(*)) AS telling
FROM said ANTI JOIN stop_word USING (word) JOIN inside USING (entity_id) JOIN total USING (part)
GROUP BY part, word;

CREATE TEMP TABLE named AS
SELECT community_id, array_to_string(max_by(word, (score, word), getvariable('words')), ' ') AS name FROM (
    SELECT community_id, word, count(*) * any_value(telling) AS score
    FROM one JOIN said USING (entity_id) JOIN telling USING (part, word)
    GROUP BY community_id, word
) GROUP BY community_id;

CREATE TEMP TABLE listed AS
SELECT community_id, count(*) AS size, list(entity_id ORDER BY degree DESC, entity_id) AS entity_ids
FROM one JOIN entity USING (entity_id) GROUP BY community_id;

SELECT community_id, level, parent_id, coalesce(name, '') AS name, size, coalesce(relations, 0) AS relations,
       coalesce(weight, 0) AS weight, entity_ids
FROM community
JOIN listed USING (community_id)
LEFT JOIN inner_relation USING (community_id)
LEFT JOIN named USING (community_id)
ORDER BY level, community_id
