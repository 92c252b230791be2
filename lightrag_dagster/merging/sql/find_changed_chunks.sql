-- The chunks of which a position or a mention differs between the last merge and this one. The views hold the files
-- that only one of the two reads; a row that is in both, as often, adds up to nothing.
CREATE TABLE changed_chunk AS
WITH position_change AS (
    SELECT source, chunk_id, doc_id, path, chunk_index
    FROM (SELECT *, 1 AS side FROM chunks_now UNION ALL SELECT *, -1 FROM chunks_before)
    GROUP BY source, chunk_id, doc_id, path, chunk_index HAVING sum(side) <> 0
),
entity_change AS (
    SELECT COLUMNS(* EXCLUDE (side))
    FROM (SELECT *, 1 AS side FROM entity_mentions_now UNION ALL SELECT *, -1 FROM entity_mentions_before)
    GROUP BY ALL HAVING sum(side) <> 0
),
relation_change AS (
    SELECT COLUMNS(* EXCLUDE (side))
    FROM (SELECT *, 1 AS side FROM relation_mentions_now UNION ALL SELECT *, -1 FROM relation_mentions_before)
    GROUP BY ALL HAVING sum(side) <> 0
)
SELECT chunk_id FROM position_change
UNION SELECT chunk_id FROM entity_change
UNION SELECT chunk_id FROM relation_change;
