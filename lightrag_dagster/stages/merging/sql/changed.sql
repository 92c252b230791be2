-- The entities and relations whose rows may differ from those of the last merge: their evidence does, or a place of a chunk
-- of it; and both ends of such a relation, since its evidence counts for them. A chunk has a place in each document, and
-- files of chunks that both merges read have the same ones.
CREATE TEMP VIEW entity_row AS SELECT * EXCLUDE (chunk_index) FROM entity_evidence;
CREATE TEMP VIEW relation_row AS SELECT * EXCLUDE (chunk_index) FROM relation_evidence;
CREATE TEMP VIEW place_row AS SELECT chunk_id, source, doc_id, path, chunk_index FROM place;
CREATE TEMP VIEW place_row_before AS SELECT chunk_id, source, doc_id, path, chunk_index FROM place_before;

CREATE TEMP TABLE moved AS
SELECT DISTINCT chunk_id FROM (
    (FROM place_row EXCEPT FROM place_row_before) UNION ALL (FROM place_row_before EXCEPT FROM place_row)
);

-- A chunk and the number of a mention in it name a row of evidence.
CREATE TEMP TABLE changed_pair AS
SELECT relation_id, coalesce(n.src_id, b.src_id) AS src_id, coalesce(n.tgt_id, b.tgt_id) AS tgt_id
FROM relation_row n FULL JOIN relation_before b USING (relation_id, chunk_id, mention_index) WHERE n IS DISTINCT FROM b
UNION
SELECT relation_id, src_id, tgt_id FROM relation_evidence SEMI JOIN moved USING (chunk_id);

CREATE TEMP TABLE changed_relation AS SELECT DISTINCT relation_id FROM changed_pair;

CREATE TEMP TABLE changed_entity AS
SELECT entity_id
FROM entity_row n FULL JOIN entity_before b USING (entity_id, chunk_id, mention_index) WHERE n IS DISTINCT FROM b
UNION
SELECT entity_id FROM entity_evidence SEMI JOIN moved USING (chunk_id)
UNION
SELECT src_id FROM changed_pair
UNION
SELECT tgt_id FROM changed_pair;
