-- What the mentions of each relation yield. Names and degrees of its ends come from `entity_group`.
CREATE TEMP TABLE relation_statement AS
SELECT relation_id AS id, least(first_id, second_id) AS src_id, greatest(first_id, second_id) AS tgt_id, keywords,
       strip(description) AS description, weight, chunk_id, source, path, chunk_index
FROM relation_evidence;

DELETE FROM relation_statement
WHERE (id, chunk_id) IN (SELECT (id, chunk_id) FROM beyond_limit('relation_statement', getvariable('relation_chunks')));

CREATE TEMP TABLE relation_group AS
WITH word AS (SELECT DISTINCT id, strip(unnest(string_split(keywords, ','))) AS keyword FROM relation_statement),
keyword AS (
    SELECT id, string_agg(keyword, ',' ORDER BY keyword) AS keywords FROM word WHERE keyword <> '' GROUP BY id
),
-- The weights are added up in a fixed order, since the sum of floating-point numbers depends on it.
counted AS (
    SELECT id, src_id, tgt_id, list_sum(list(weight ORDER BY weight)) AS weight, count(*) AS mention_count
    FROM relation_statement GROUP BY ALL
)
SELECT id AS relation_id, c.src_id, c.tgt_id, a.name AS src, b.name AS tgt, coalesce(k.keywords, '') AS keywords,
       d.descriptions, c.weight, c.mention_count, a.degree + b.degree AS rank
FROM counted c
JOIN entity_group a ON a.entity_id = c.src_id
JOIN entity_group b ON b.entity_id = c.tgt_id
LEFT JOIN keyword k USING (id)
LEFT JOIN distinct_descriptions('relation_statement') d USING (id);
