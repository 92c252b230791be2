-- The entities that a name may mean, each by the name of it that fits best. Ranks: 1 the same, 2 the beginning, 3 words in
-- it, 4 similar. The digits of similar names must be the same, since Station 14 is not Station 15.
WITH near AS (
    SELECT entity_id, name, passages, mentioned, words, digits,
           CASE WHEN fold = $fold THEN 1
                WHEN starts_with(words, $words) THEN 2
                WHEN contains(' ' || words, ' ' || $words) OR ($within AND contains(words, $words))
                     OR list_has_all(string_split(words, ' '), string_split($words, ' ')) THEN 3
                ELSE 4
           END AS rank,
           string_split(words, ' ') || [words] AS parts
    FROM known_name
),
-- Distances count bytes, so lengths do as well. A single word may also be like one of the words of a name.
comparable AS (
    SELECT * REPLACE (
        if(rank < 4, [], list_filter(
            if(contains($words, ' '), [words], parts),
            lambda part: abs(strlen(part) - strlen($words)) <= (1 - $least) * greatest(strlen(part), strlen($words))
        )) AS parts
    )
    FROM near
    WHERE rank < 4
    OR (length($words) > 2 AND digits = $digits)
),
judged AS (
    SELECT * EXCLUDE (parts, words, digits),
           CASE rank
               WHEN 1 THEN 1.0
               WHEN 4 THEN coalesce(list_max(list_transform(
                   parts,
                   lambda part: 1 - damerau_levenshtein(part, $words) / greatest(strlen(part), strlen($words))
               )), 0)
               ELSE length($words) / length(words)
           END AS likeness
    FROM comparable
),
best AS (
    SELECT entity_id, name, rank, likeness, mentioned FROM judged WHERE rank < 4 OR likeness >= $least
    QUALIFY row_number() OVER (PARTITION BY entity_id ORDER BY rank, likeness DESC, passages DESC, name) = 1
)
SELECT entity_id, name, rank, likeness, count(*) OVER () AS found, count(*) FILTER (rank = 1) OVER () AS same
FROM best
ORDER BY rank, if(rank = 4, likeness, 1) DESC, mentioned DESC, entity_id
LIMIT $most
