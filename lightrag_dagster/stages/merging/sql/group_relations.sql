-- The parts of a relation's row.
CREATE TEMP TABLE relation_beyond AS
WITH crowded AS (
    SELECT relation_id FROM relation_evidence GROUP BY relation_id HAVING count(*) > getvariable('relation_chunks')
)
SELECT relation_id, chunk_id
FROM (SELECT DISTINCT relation_id, chunk_id, place FROM relation_evidence SEMI JOIN crowded USING (relation_id))
QUALIFY row_number() OVER (PARTITION BY relation_id ORDER BY place * getvariable('chunk_order'))
    > getvariable('relation_chunks');

CREATE TEMP VIEW relation_statement AS FROM relation_evidence ANTI JOIN relation_beyond USING (relation_id, chunk_id);

CREATE TEMP TABLE relation_description AS
SELECT relation_id AS id, list(description ORDER BY length(description) DESC, description) AS descriptions
FROM (SELECT DISTINCT relation_id, strip(description) AS description FROM relation_statement)
WHERE description <> '' GROUP BY relation_id;

CREATE TEMP TABLE relation_keywords AS
WITH word AS (SELECT DISTINCT relation_id, strip(unnest(string_split(keywords, ','))) AS keyword FROM relation_statement)
SELECT relation_id, string_agg(keyword, ',' ORDER BY keyword) AS keywords
FROM word WHERE keyword <> '' GROUP BY relation_id;

-- The weights are added up in a fixed order, since the sum of floating-point numbers depends on it.
CREATE TEMP TABLE relation_group AS
SELECT relation_id, src_id, tgt_id, list_sum(list(weight ORDER BY weight)) AS weight, count(*) AS mention_count
FROM relation_statement GROUP BY relation_id, src_id, tgt_id;

CREATE TEMP TABLE edge AS SELECT src_id, tgt_id FROM relation_group;
