-- Of each passage its newest place; of each row its newest passages. Registered before: found_place, wanted_passage.
WITH newest AS (
    SELECT chunk, place, source, path, chunk_index, date, count(*) OVER (PARTITION BY chunk) AS places
    FROM found_place
    QUALIFY row_number() OVER (PARTITION BY chunk ORDER BY date DESC NULLS LAST, place) = 1
)
SELECT number, chunk, place, date, places
FROM wanted_passage JOIN newest USING (chunk)
QUALIFY row_number() OVER (
    PARTITION BY number ORDER BY date DESC NULLS LAST, source, path, chunk_index, place
) <= $most
ORDER BY number, date DESC NULLS LAST, source, path, chunk_index, place
