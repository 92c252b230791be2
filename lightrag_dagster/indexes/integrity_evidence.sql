-- Check that rows count all evidence, and that the arrays list all of its chunks: each SELECT returns what breaks a rule, as
-- problem and id. It runs after integrity_macros.sql and evidence.sql, and reads the views of a generation; entity_row,
-- relation_row (id, row, chunks) and chunk_row (id, row); stored_entity_chunks and stored_relation_chunks (row, chunk).
CREATE TEMP VIEW counted AS
    SELECT entity_id AS id, mention_count, chunk_count, document_count, capped,
        len(chunk_ids) AS listed_chunks, len(doc_ids) AS listed_documents, chunks
    FROM entities JOIN entity_row ON entity_id = id
    UNION ALL
    SELECT relation_id, mention_count, chunk_count, document_count, capped, len(chunk_ids), len(doc_ids), chunks
    FROM relations JOIN relation_row ON relation_id = id;

CREATE TEMP VIEW mentioned AS
    SELECT entity_id AS id, count(*) AS mentions FROM entity_evidence GROUP BY entity_id
    UNION ALL
    SELECT relation_id, count(*) FROM relation_evidence GROUP BY relation_id;

CREATE TEMP VIEW wanted_lists AS
    SELECT 'entity_chunks' AS list, o.row, c.row AS chunk
    FROM entity_chunks('entity_evidence', 'relation_evidence') s
    JOIN entity_row o ON s.id = o.id JOIN chunk_row c ON s.chunk_id = c.id
    UNION ALL
    SELECT 'relation_chunks', o.row, c.row FROM relation_chunks('relation_evidence') s
    JOIN relation_row o ON s.id = o.id JOIN chunk_row c ON s.chunk_id = c.id;

CREATE TEMP VIEW stored_lists AS
    SELECT 'entity_chunks' AS list, row, chunk FROM stored_entity_chunks
    UNION ALL SELECT 'relation_chunks', row, chunk FROM stored_relation_chunks;

SELECT 'the counts of a row are not those of its evidence' AS problem, id
FROM counted LEFT JOIN mentioned USING (id)
WHERE mention_count <> coalesce(mentions, 0) OR chunk_count <> chunks;

SELECT 'a row is marked as capped that lists all, or lists less and is not marked' AS problem, id
FROM counted
WHERE capped <> (listed_chunks < chunk_count OR listed_documents < document_count);

SELECT if(missing > 0, 'a chunk is missing from the arrays, in ', 'a chunk in the arrays has no evidence, in ') || list
           AS problem, c.id
FROM differences('wanted_lists', 'stored_lists') d JOIN chunk_row c ON d.chunk = c.row;
