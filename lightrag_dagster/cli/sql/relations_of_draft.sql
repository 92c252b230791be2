-- The most frequent keywords of relations, each between the two types that it joins most often, with their passages.
WITH keywords AS (
    SELECT trim(unnest(string_split(keywords, ','))) AS keyword, src_id, tgt_id, chunk_id FROM relation_evidence
),
joined AS (
    SELECT keyword, a.type AS start, b.type AS target, count(DISTINCT chunk_id) AS passages
    FROM keywords JOIN entities a ON src_id = a.entity_id JOIN entities b ON tgt_id = b.entity_id
    WHERE keyword <> '' AND a.type IN (SELECT unnest($types)) AND b.type IN (SELECT unnest($types))
    GROUP BY ALL
)
SELECT * FROM joined QUALIFY row_number() OVER (PARTITION BY keyword ORDER BY passages DESC, start, target) = 1
ORDER BY passages DESC, keyword LIMIT 40
