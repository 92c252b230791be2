-- A row a community, from `member` (`community_id`, `level`, `parent_id`, `entity_id`), `entity` and `relation`; $words is
-- the most words of a name. A community that could not be divided is one with its parent.
WITH one AS (
    SELECT community_id, min(level) AS level, arg_min(parent_id, level) AS parent_id, entity_id
    FROM member GROUP BY community_id, entity_id
),
inner_relation AS (
    SELECT s.community_id, count(*) AS relations, sum(r.weight ORDER BY r.src_id, r.tgt_id) AS weight
    FROM relation r
    JOIN one s ON s.entity_id = r.src_id
    JOIN one t ON t.entity_id = r.tgt_id AND t.community_id = s.community_id
    GROUP BY s.community_id
),
-- A word of an entity counts once, however often its name and description have it.
said AS (
    SELECT entity_id, unnest(list_distinct(regexp_extract_all(lower(name || ' ' || description), '[\p{L}]{3,}'))) AS word
    FROM entity
),
known AS (SELECT word, count(*) AS everywhere FROM said GROUP BY word),
counted AS (
    SELECT community_id, word, count(*) AS here, any_value(everywhere) AS everywhere
    FROM one JOIN said USING (entity_id) JOIN known USING (word)
    WHERE everywhere < (SELECT count(*) FROM entity)
    GROUP BY community_id, word
),
named AS (
    SELECT community_id, array_to_string(
        max_by(word, (here * ln((SELECT count(*) FROM entity) / everywhere), word), $words), ' '
    ) AS name
    FROM counted GROUP BY community_id
)
SELECT community_id, any_value(level)::INTEGER AS level, any_value(parent_id) AS parent_id,
       coalesce(any_value(n.name), '') AS name, count(*) AS size,
       coalesce(any_value(i.relations), 0) AS relations, coalesce(any_value(i.weight), 0) AS weight,
       list(entity_id ORDER BY e.degree DESC, entity_id) AS entity_ids
FROM one
JOIN entity e USING (entity_id)
LEFT JOIN inner_relation i USING (community_id)
LEFT JOIN named n USING (community_id)
GROUP BY community_id
ORDER BY level, community_id
