-- What the merge shares with those who read its evidence: which chunks are listed first, and how much a relation weighs.
-- What uses a temporary macro is temporary too, since DuckDB does not find it otherwise.
-- The members of each row in rounds: the first of each source is in round 1, the second in round 2, and so on. In turn they
-- are by round, then by source. `members` has id, member, source, and the position of the member in its source.
CREATE TEMP MACRO rounds(members) AS TABLE
SELECT *, CASE WHEN getvariable('keeps_first') THEN row_number() OVER of_source
               ELSE 1 + count(*) OVER (PARTITION BY id, source) - row_number() OVER of_source END AS round
FROM query_table(members) WINDOW of_source AS (PARTITION BY id, source ORDER BY position);

-- The sum of the weights of each row. They are added up in a fixed order, since the sum of floating-point numbers depends
-- on it; equal ones are counted first, so that no list is as long as the evidence.
CREATE TEMP MACRO summed_weights(statements) AS TABLE
SELECT id, list_sum(list(weight * times ORDER BY weight)) AS weight
FROM (SELECT id, weight, count(*) AS times FROM query_table(statements) GROUP BY ALL) GROUP BY id;

-- The members of each row that are not listed, since `most` others have their turn before them.
CREATE TEMP MACRO beyond_limit(members, most) AS TABLE
WITH crowded AS (SELECT id FROM query_table(members) GROUP BY id HAVING count(*) > most),
crowded_member AS (SELECT *, (path, chunk_index) AS position FROM query_table(members) SEMI JOIN crowded USING (id))
SELECT id, member FROM rounds('crowded_member')
QUALIFY row_number() OVER (PARTITION BY id ORDER BY round, source) > most;

-- What each row cites, of tables of its chunks, of those that are not listed, and of its documents.
CREATE TEMP MACRO provenance(chunks, unlisted, documents, most) AS TABLE
WITH listed AS (FROM query_table(chunks) ANTI JOIN query_table(unlisted) USING (id, member)),
chunk_list AS (SELECT id, list(member ORDER BY source, path, chunk_index) AS chunk_ids FROM listed GROUP BY id),
chunk_total AS (SELECT id, count(*) AS chunk_count FROM query_table(chunks) GROUP BY id),
document_listed AS (FROM query_table(documents) ANTI JOIN beyond_limit(documents, most) USING (id, member)),
document_list AS (
    SELECT id, list(member ORDER BY member) AS doc_ids,
           list(DISTINCT source || '/' || path ORDER BY source || '/' || path) AS file_paths
    FROM document_listed GROUP BY id
),
document_total AS (
    SELECT id, count(*) AS document_count, list(DISTINCT source ORDER BY source) AS sources
    FROM query_table(documents) GROUP BY id
)
SELECT *, chunk_count > most OR document_count > most AS capped
FROM chunk_list JOIN chunk_total USING (id) JOIN document_list USING (id) JOIN document_total USING (id);
