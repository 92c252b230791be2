-- How the names of each pair agree word by word: a word counts by what it says, and agrees as far as the most alike word
-- of the other name, or as its initial. Marks are numbers, Roman ones too, and single letters.

CREATE TEMP MACRO agreement(one, other) AS CASE
    WHEN len(one) = 1 AND starts_with(other, one) OR len(other) = 1 AND starts_with(one, other) THEN 0.7
    ELSE greatest(0, (jaro_winkler_similarity(one, other) - 0.7) / 0.3)
END;

CREATE TEMP TABLE name_word AS
SELECT
    n,
    word,
    bits + 0.5 AS bits
FROM word
WHERE of_name
QUALIFY row_number() OVER (PARTITION BY n ORDER BY bits DESC, w) <= getvariable('name_words');

CREATE TEMP TABLE mark AS
SELECT
    n,
    list(word) FILTER (regexp_full_match(word, '\d.*|[ivx]+|\p{L}')) AS marks,
    list(word[1]) AS initials
FROM word
WHERE of_name
GROUP BY n;

CREATE TEMP VIEW agreed AS
WITH pair AS (
    SELECT
        *,
        (row_number() OVER (ORDER BY a, b))::INTEGER AS p
    FROM kept
),

of_word AS (
    SELECT
        p,
        true AS of_one,
        any_value(one.bits) AS bits,
        max(agreement(one.word, other.word)) AS agreed
    FROM pair
    INNER JOIN name_word AS one ON pair.a = one.n
    INNER JOIN name_word AS other ON pair.b = other.n
    GROUP BY p, one.word
    UNION ALL
    SELECT
        p,
        false,
        any_value(other.bits),
        max(agreement(one.word, other.word))
    FROM pair
    INNER JOIN name_word AS one ON pair.a = one.n
    INNER JOIN name_word AS other ON pair.b = other.n
    GROUP BY p, other.word
),

of_name AS (
    SELECT
        p,
        sum(bits * agreed) / sum(bits) AS agreed,
        sum(bits * (1 - agreed)) AS missing,
        max(bits * (1 - agreed)) AS most_missing
    FROM of_word
    GROUP BY p, of_one
),

of_pair AS (
    SELECT
        p,
        min(agreed) AS agreed,
        min(missing) AS missing,
        min(most_missing) AS most_missing
    FROM of_name
    GROUP BY p
)

SELECT
    coalesce(of_pair.agreed, 0)::FLOAT AS agreed,
    coalesce(of_pair.missing, 0)::FLOAT AS missing,
    coalesce(of_pair.most_missing, 0)::FLOAT AS most_missing,
    coalesce(
        len(list_filter(one.marks, lambda mark: NOT list_contains(other.marks, mark) AND NOT list_contains(other.initials, mark)))
        + len(list_filter(other.marks, lambda mark: NOT list_contains(one.marks, mark) AND NOT list_contains(one.initials, mark)))
        > 0, false
    ) AS marks_differ
FROM pair
LEFT JOIN of_pair USING (p)
LEFT JOIN mark AS one ON pair.a = one.n
LEFT JOIN mark AS other ON pair.b = other.n
ORDER BY p;
