-- Named before: entity_name. A removed entity is known by the id that its name has without decisions. A name that is split is
-- known by itself, since it may not mean what the names joined with it mean. Registered before: split_base.
CREATE TEMP VIEW known_as AS
SELECT name, s.base_id IS NOT NULL AS is_split, if(is_split, 'split ' || n.base_id, coalesce(entity_id, n.base_id)) AS entity_id
FROM entity_name n LEFT JOIN split_base s ON n.base_id = s.base_id;

CREATE TEMP TABLE fact_mention AS
WITH last AS (SELECT chunk_id, max(mention_index) AS mention_index FROM mention_beside GROUP BY chunk_id),
beside AS (
    SELECT chunk_id, entity_id, list(DISTINCT type) AS types FROM mention_beside JOIN known_as USING (name) GROUP BY ALL
),
-- Where mentions of several types may mean several entities, a fact has one of its own type.
added AS (
    SELECT f.*, k.entity_id FROM fact_name f JOIN known_as k USING (name) LEFT JOIN beside b USING (chunk_id, entity_id)
    WHERE types IS NULL OR (is_split AND len(types) > 1 AND NOT list_contains(types, lower(type)))
    QUALIFY row_number() OVER (
        PARTITION BY chunk_id, entity_id, CASE WHEN is_split THEN lower(type) END ORDER BY pass, fact_index, place
    ) = 1
)
SELECT source, chunk_id, extraction_key,
       (coalesce(l.mention_index, -1) + row_number() OVER (PARTITION BY chunk_id ORDER BY name, type))::INT AS mention_index,
       name, type, words AS description
FROM added LEFT JOIN last l USING (chunk_id);

CREATE TEMP TABLE paired_fact AS
SELECT f.*, replace(relation, '_', ' ') AS keyword,
       least(a.entity_id, b.entity_id) AS low, greatest(a.entity_id, b.entity_id) AS high
FROM chosen_fact f JOIN known_as a ON f.subject = a.name JOIN known_as b ON f.object = b.name
WHERE a.entity_id <> b.entity_id;

CREATE TEMP TABLE pair_beside AS
SELECT chunk_id, least(a.entity_id, b.entity_id) AS low, greatest(a.entity_id, b.entity_id) AS high,
       min(mention_index) AS mention_index
FROM relation_beside m JOIN known_as a ON m.src = a.name JOIN known_as b ON m.tgt = b.name GROUP BY ALL;

-- Where the first reading names the pair, the relations of facts are keywords of its mention.
CREATE TEMP TABLE fact_keyword AS
SELECT chunk_id, mention_index, string_agg(DISTINCT keyword, ',' ORDER BY keyword) AS keywords
FROM paired_fact JOIN pair_beside USING (chunk_id, low, high) GROUP BY chunk_id, mention_index;

CREATE TEMP TABLE fact_relation AS
WITH last AS (SELECT chunk_id, max(mention_index) AS mention_index FROM relation_beside GROUP BY chunk_id),
added AS (
    SELECT extraction_source AS source, chunk_id, chosen_key AS extraction_key, low, high,
           arg_min(subject, (pass, fact_index)) AS src, arg_min(object, (pass, fact_index)) AS tgt,
           string_agg(DISTINCT keyword, ',' ORDER BY keyword) AS keywords,
           string_agg(DISTINCT words, ' ' ORDER BY words) AS description
    FROM paired_fact ANTI JOIN pair_beside USING (chunk_id, low, high) GROUP BY ALL
)
SELECT source, chunk_id, extraction_key,
       (coalesce(l.mention_index, -1) + row_number() OVER (PARTITION BY chunk_id ORDER BY low, high))::INT
           AS mention_index,
       src, tgt, keywords, description, 1.0::DOUBLE AS weight
FROM added LEFT JOIN last l USING (chunk_id);
