-- The names that hold another as words, or are most like it.
SELECT name FROM (
    SELECT name, sum(mentions) AS mentions, CASE WHEN contains(' ' || lower(name) || ' ', ' ' || lower($name) || ' ')
        THEN 1 ELSE jaro_winkler_similarity(lower(name), lower($name)) END AS likeness
    FROM extracted GROUP BY ALL
) WHERE likeness >= $alike ORDER BY likeness DESC, mentions DESC, name LIMIT $most
