-- Of each passage its newest place; passages by date, newest first. Registered before: found_place.
SELECT chunk, place, date, places
FROM (
    SELECT chunk, place, source, path, chunk_index, date, count(*) OVER (PARTITION BY chunk) AS places
    FROM found_place
    QUALIFY row_number() OVER (PARTITION BY chunk ORDER BY date DESC NULLS LAST, place) = 1
)
ORDER BY date DESC NULLS LAST, source, path, chunk_index, place
LIMIT $most
