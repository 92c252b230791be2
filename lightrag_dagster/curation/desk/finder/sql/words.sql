-- The words of names and descriptions, case, accents and punctuation folded, with what each is worth: a word that one
-- in 2^b entities has says b bits. Of a description the rarest words count, but no stop word, and none that is in the
-- entity's own name; of words that always come together in many, as a country and its code do, the first one.

CREATE TEMP MACRO words_of(text) AS
    regexp_extract_all(replace(strip_accents(lower(text)), 'ß', 'ss'), '[\p{L}\p{M}\p{N}]+');

CREATE TEMP TABLE name AS
WITH folded AS (
    SELECT
        n,
        type,
        name,
        words_of(name) AS words
    FROM given
)

SELECT
    n,
    type,
    CASE WHEN len(words) > 0 THEN array_to_string(words, ' ') ELSE lower(name) END AS text,
    replace(text, ' ', '') AS compact,
    CASE WHEN len(words) > 0 THEN array_to_string(list_sort(words), '') ELSE lower(name) END AS sorted,
    CASE WHEN len(words) > 1 THEN array_to_string(list_transform(words, lambda word: word[1]), '') END AS initials
FROM folded;

CREATE TEMP TABLE word AS
WITH said AS (
    SELECT DISTINCT
        n,
        true AS of_name,
        unnest(words_of(name)) AS word
    FROM given
    UNION ALL
    SELECT DISTINCT
        n,
        false AS of_name,
        unnest(words_of(description[:getvariable('longest')])) AS word
    FROM given
),

counted AS (
    SELECT
        *,
        (row_number() OVER (ORDER BY of_name, word) - 1)::INTEGER AS w,
        regexp_full_match(word, '\d+') AS is_number,
        NOT of_name AND held_by > getvariable('always')
        AND row_number() OVER (PARTITION BY of_name, held_by, held ORDER BY word) > 1 AS is_said
    FROM (
        SELECT
            of_name,
            word,
            count(*)::INTEGER AS held_by,
            bit_xor(hash(n)) AS held
        FROM said
        GROUP BY ALL
    )
)

SELECT
    n,
    of_name,
    w,
    word,
    is_number,
    held_by,
    CASE WHEN is_said THEN 0 ELSE log2(getvariable('entities') / held_by) END::FLOAT AS bits
FROM said
INNER JOIN counted USING (of_name, word)
ANTI JOIN (SELECT n, word, false AS of_name FROM said WHERE of_name) AS own USING (n, word, of_name)
ANTI JOIN (SELECT word, false AS of_name FROM stop_word) AS of_no_topic USING (word, of_name)
QUALIFY of_name OR row_number() OVER (PARTITION BY n, of_name ORDER BY held_by, w) <= getvariable('words');
