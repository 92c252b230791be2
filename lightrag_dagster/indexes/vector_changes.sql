-- How a vector table differs from what it should hold. Reads wanted (id, embedding_key, text) and held (id,
-- embedding_key, unread), and leaves tables: wanted_rows, held_rows, missing (rows to be added), outdated (ids to be
-- removed) and uncounted (ids of rows that stay, of which an older version did not count what is unread).
CREATE OR REPLACE TEMP TABLE wanted_rows AS SELECT DISTINCT id, embedding_key, length(text) AS characters FROM wanted;

CREATE OR REPLACE TEMP TABLE held_rows AS SELECT id, embedding_key, unread FROM held;

CREATE OR REPLACE TEMP TABLE missing AS FROM wanted_rows ANTI JOIN held_rows USING (id, embedding_key);

CREATE OR REPLACE TEMP TABLE outdated AS
    SELECT id FROM held_rows ANTI JOIN wanted_rows USING (id, embedding_key);

CREATE OR REPLACE TEMP TABLE uncounted AS
    SELECT id FROM held_rows SEMI JOIN wanted_rows USING (id, embedding_key) WHERE unread IS NULL;
