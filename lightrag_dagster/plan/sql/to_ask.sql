-- The first place of each chunk that no kept row answers, with the tokens of a question about it beyond instructions:
-- those of its text, and about one for 4 characters of its section. `known` has a row for each kept answer, `spoken` the
-- language of each chunk.
WITH place AS (
    SELECT chunk_id, min((path, chunk_index)) AS first FROM chunk ANTI JOIN known USING (chunk_id) GROUP BY chunk_id
)
SELECT chunk_id, path, chunk_index, content, heading, context, language,
       tokens + length(coalesce(context, heading, '')) // 4 AS tokens
FROM chunk JOIN place USING (chunk_id) LEFT JOIN spoken USING (chunk_id)
WHERE (path, chunk_index) = first
