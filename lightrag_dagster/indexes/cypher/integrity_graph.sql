-- Check the graph: each SELECT returns what it holds too little or too much, as problem and id.
-- It runs after integrity_macros.sql, and reads the views of graph_tables.sql, stored_<node table> (id),
-- forward_<relationship> and backward_<relationship> (src, tgt).

CREATE TEMP VIEW wanted_nodes AS
    SELECT 'Document' AS store, doc_id AS id FROM "Document"
    UNION ALL SELECT 'Chunk', chunk_id FROM "Chunk"
    UNION ALL SELECT 'Entity', entity_id FROM "Entity";

CREATE TEMP VIEW stored_nodes AS
    SELECT 'Document' AS store, id FROM "stored_Document"
    UNION ALL SELECT 'Chunk', id FROM "stored_Chunk"
    UNION ALL SELECT 'Entity', id FROM "stored_Entity";

CREATE TEMP VIEW wanted_edges AS
    SELECT 'HAS_CHUNK' AS store, doc_id AS src, chunk_id AS tgt FROM "HAS_CHUNK"
    UNION ALL SELECT 'MENTIONS', chunk_id, entity_id FROM "MENTIONS"
    UNION ALL SELECT 'RELATED', src_id, tgt_id FROM "RELATED";

CREATE TEMP VIEW forward_edges AS
    SELECT 'HAS_CHUNK' AS store, src, tgt FROM "forward_HAS_CHUNK"
    UNION ALL SELECT 'MENTIONS', src, tgt FROM "forward_MENTIONS"
    UNION ALL SELECT 'RELATED', src, tgt FROM "forward_RELATED";

CREATE TEMP VIEW backward_edges AS
    SELECT 'HAS_CHUNK' AS store, src, tgt FROM "backward_HAS_CHUNK"
    UNION ALL SELECT 'MENTIONS', src, tgt FROM "backward_MENTIONS"
    UNION ALL SELECT 'RELATED', src, tgt FROM "backward_RELATED";

SELECT if(missing > 0, 'a row is missing from the graph, of ', 'a node of the graph belongs to no row, of ') || store
           AS problem, id
FROM differences('wanted_nodes', 'stored_nodes');

SELECT if(missing > 0, 'an edge is missing from the graph read forwards, of ',
          'an edge of the graph read forwards belongs to no row, of ') || store AS problem,
       src || ' to ' || tgt AS id
FROM differences('wanted_edges', 'forward_edges');

SELECT if(missing > 0, 'an edge is missing from the graph read backwards, of ',
          'an edge of the graph read backwards belongs to no row, of ') || store AS problem,
       src || ' to ' || tgt AS id
FROM differences('wanted_edges', 'backward_edges');
