-- The chunks of each row, as numbers, in turn over sources; null for a chunk that has no position. Read: support
-- (id, chunk_id), owner (id, row), and position.
WITH member AS (
    SELECT o.row AS id, p.row AS member, p.source, p.position
    FROM support s JOIN owner o USING (id) LEFT JOIN position p USING (chunk_id)
)
SELECT id AS owner, member AS chunk FROM rounds('member') ORDER BY id, round, source;
