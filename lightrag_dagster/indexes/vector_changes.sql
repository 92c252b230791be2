-- How a vector table differs from what it should hold. Reads wanted (id, embedding_key, text) and held (id,
-- embedding_key), and leaves tables: wanted_rows, held_rows, missing (rows to be added) and outdated (ids to be removed).
-- Returns the numbers of rows and of ids that are wanted, their characters, and the numbers to be added and removed.
CREATE OR REPLACE TEMP TABLE wanted_rows AS SELECT DISTINCT id, embedding_key, length(text) AS characters FROM wanted;

CREATE OR REPLACE TEMP TABLE held_rows AS SELECT id, embedding_key FROM held;

CREATE OR REPLACE TEMP TABLE missing AS FROM wanted_rows ANTI JOIN held_rows USING (id, embedding_key);

CREATE OR REPLACE TEMP TABLE outdated AS
    SELECT id FROM held_rows ANTI JOIN wanted_rows USING (id, embedding_key);

SELECT count(*), count(DISTINCT id), coalesce(sum(characters), 0), (SELECT count(*) FROM missing),
    (SELECT count(*) FROM held_rows ANTI JOIN wanted_rows USING (id))
FROM wanted_rows
