-- Relations that are as they were but for the degree of an end.
WITH embedded AS (
    SELECT b.* EXCLUDE (row_fingerprint) REPLACE (x.degree + y.degree AS rank)
    FROM relations_before b
    JOIN degree x ON x.id = b.src_id
    JOIN degree y ON y.id = b.tgt_id
    ANTI JOIN touched_relation t ON t.relation_id = b.relation_id
    WHERE b.rank <> x.degree + y.degree
)
SELECT *, left(sha256(to_json(embedded)::VARCHAR), 32) AS row_fingerprint FROM embedded
