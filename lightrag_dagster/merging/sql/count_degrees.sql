CREATE TABLE degree AS
SELECT id, count(*) AS degree FROM (SELECT src_id AS id FROM edge UNION ALL SELECT tgt_id FROM edge) GROUP BY id;
