-- What the mentions of each relation yield. Names and degrees of its ends come from `entity_group`. All mentions count and
-- weigh; keywords and descriptions are those of the chunks listed.
CREATE TEMP TABLE relation_statement AS
SELECT relation_id AS id, least(src_id, tgt_id) AS src_id, greatest(src_id, tgt_id) AS tgt_id, keywords,
       strip(description) AS description, weight, chunk_id, source, path, chunk_index
FROM relation_evidence;

CREATE TEMP TABLE relation_chunk AS FROM chunks_of('relation_statement');

CREATE TEMP TABLE relation_unlisted AS FROM beyond_limit('relation_chunk', getvariable('listed_chunks'));

CREATE TEMP VIEW relation_listed AS
SELECT id, keywords, description FROM relation_statement s
ANTI JOIN relation_unlisted u ON s.id = u.id AND s.chunk_id = u.member;

CREATE TEMP TABLE relation_group AS
WITH word AS (SELECT DISTINCT id, strip(unnest(string_split(keywords, ','))) AS keyword FROM relation_listed),
keyword AS (
    SELECT id, string_agg(keyword, ',' ORDER BY keyword) AS keywords FROM word WHERE keyword <> '' GROUP BY id
),
counted AS (SELECT id, src_id, tgt_id, count(*) AS mention_count FROM relation_statement GROUP BY ALL)
SELECT id AS relation_id, c.src_id, c.tgt_id, a.name AS src, b.name AS tgt, coalesce(k.keywords, '') AS keywords,
       if(t.description IS NULL, d.descriptions, [t.description]) AS descriptions, w.weight, c.mention_count,
       a.degree + b.degree AS rank
FROM counted c
JOIN summed_weights('relation_statement') w USING (id)
JOIN entity_group a ON a.entity_id = c.src_id
JOIN entity_group b ON b.entity_id = c.tgt_id
LEFT JOIN keyword k USING (id)
LEFT JOIN distinct_descriptions('relation_listed') d USING (id)
LEFT JOIN written t USING (id);
