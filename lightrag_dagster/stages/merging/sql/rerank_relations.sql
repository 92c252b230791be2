-- Relations of which nothing changed but the degree of an end.
WITH complete AS (
    SELECT b.* EXCLUDE (row_fingerprint) REPLACE (x.degree + y.degree AS rank)
    FROM relations_before b
    JOIN degree x ON x.id = b.src_id
    JOIN degree y ON y.id = b.tgt_id
    ANTI JOIN affected_relation t ON t.relation_id = b.relation_id
    WHERE b.rank <> x.degree + y.degree
)
SELECT *, row_fingerprint(complete) AS row_fingerprint FROM complete
