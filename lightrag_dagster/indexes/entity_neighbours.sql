-- A row for each relation of an entity. DuckDB 1.0 and later can read it.
CREATE VIEW entity_neighbours AS
SELECT src_id AS entity_id, src AS name, tgt_id AS neighbour_id, tgt AS neighbour, relation_id, keywords, description,
    weight
FROM relations
UNION ALL
SELECT tgt_id, tgt, src_id, src, relation_id, keywords, description, weight FROM relations;
