-- Phrases of chunks that are terms of their field, as mentions. A phrase is one to four words of letters in a row without a
-- stop word, its last word in the singular. Registered before: stop_word. Reads chunk, chosen and mentions.
CREATE TEMP MACRO spelt(text) AS replace(lower(text), '’', '''');
CREATE TEMP MACRO singular(word) AS
    CASE WHEN len(word) < 4 OR word NOT LIKE '%s' OR regexp_matches(word, '(ss|us|is|ics)$') THEN word
         WHEN len(word) > 4 AND word LIKE '%ies' THEN left(word, len(word) - 3) || 'y'
         WHEN regexp_matches(word, '(ch|sh|x|ss|o)es$') THEN left(word, len(word) - 2)
         ELSE left(word, len(word) - 1) END;
CREATE TEMP MACRO phrase_of(words) AS array_to_string(list_append(words[:-2], singular(words[-1])), ' ');

-- Words of degree, order and kind, and verbs, with which no term begins: `rapid growth`.
CREATE TEMP MACRO is_general(word) AS word IN (
    'actual', 'additional', 'adequate', 'appropriate', 'approximate', 'arbitrary', 'basic', 'became', 'become',
    'brief', 'careful', 'certain', 'clear', 'complete', 'considerable', 'definite', 'detailed', 'different',
    'difficult', 'early', 'easy', 'entire', 'essential', 'excellent', 'existing', 'extensive', 'former', 'frequent',
    'good', 'great', 'greater', 'important', 'increasing', 'keep', 'latter', 'likely', 'limited', 'little', 'main',
    'major', 'make', 'marked', 'minor', 'necessary', 'new', 'numerous', 'obvious', 'old', 'original', 'overall',
    'particular', 'past', 'poor', 'possible', 'present', 'previous', 'prove', 'radical', 'rapid', 'recent',
    'relevant', 'remarkable', 'satisfactory', 'serious', 'severe', 'several', 'show', 'significant', 'similar',
    'simple', 'slight', 'subsequent', 'substantial', 'successful', 'sudden', 'suitable', 'take', 'taken', 'taking',
    'unusual', 'useful', 'usual', 'valuable', 'various', 'vast'
);

CREATE TEMP TABLE phrase AS
WITH passage AS (
    SELECT chunk_id, regexp_extract_all(spelt(any_value(content)), '\p{L}+(?:[-'']\p{L}+)*|[^\s\p{L}]+') AS tokens
    FROM chunk SEMI JOIN chosen USING (chunk_id) GROUP BY chunk_id
),
token AS (SELECT chunk_id, unnest(tokens) AS word, generate_subscripts(tokens, 1) AS place FROM passage),
run AS (
    SELECT *, place - row_number() OVER (PARTITION BY chunk_id ORDER BY place) AS run
    FROM token ANTI JOIN stop_word USING (word) WHERE len(word) > 2 AND regexp_matches(word, '^\p{L}')
),
window_of AS (
    SELECT chunk_id, list(word) OVER (
        PARTITION BY chunk_id, run ORDER BY place ROWS BETWEEN CURRENT ROW AND 3 FOLLOWING
    ) AS words FROM run
)
SELECT DISTINCT chunk_id, phrase_of(words[:size]) AS phrase
FROM window_of JOIN range(1, 5) sizes(size) ON size <= len(words);

CREATE TEMP TABLE frequency AS
SELECT phrase, string_split(phrase, ' ') AS words, count(*) AS chunks FROM phrase GROUP BY phrase;

CREATE TEMP TABLE named AS
SELECT DISTINCT spelt(name) AS phrase FROM (
    SELECT source, chunk_id, extraction_key, name FROM entity_mention
    UNION ALL
    SELECT source, chunk_id, extraction_key, unnest([src, tgt]) FROM relation_mention
) m
JOIN chosen c ON m.chunk_id = c.chunk_id AND m.source = c.extraction_source AND m.extraction_key = c.extraction_key;

CREATE TEMP TABLE term AS
WITH total AS (SELECT count(*) AS chunks FROM chosen),
likely AS (
    SELECT f.* FROM frequency f, total
    WHERE f.chunks BETWEEN 3 AND 0.05 * total.chunks
      -- A term ends in a noun, and does not begin with an adverb, or with a verb or a plural: `sheds light`.
      AND NOT regexp_matches(words[-1], '(ed|ly|ous|less|able|ible|ical|itive|ital|itial|metric|graphic)$')
      AND words[1] NOT LIKE '%ly' AND NOT is_general(words[1])
      AND (len(words) = 1 OR words[1] = singular(words[1]))
      AND (len(words) > 1 OR (len(phrase) > 3 AND phrase NOT LIKE '%ing'))
      AND NOT regexp_matches(words[-1], '^(day|week|month|year|century|period)$')
),
halved AS (SELECT *, unnest(list_distinct([1, len(words) - 1])) AS place FROM likely WHERE len(words) > 1),
-- Words that meet less than three times as often as by chance are no term: `new method`, `recent paper`.
met_by_chance AS (
    SELECT h.phrase FROM halved h
    JOIN frequency l ON l.phrase = phrase_of(h.words[:h.place])
    JOIN frequency r ON r.phrase = array_to_string(h.words[h.place + 1:], ' '), total
    WHERE h.chunks * total.chunks < 3 * l.chunks * r.chunks
),
bound AS (FROM likely ANTI JOIN met_by_chance USING (phrase)),
-- Phrases that are hardly ever found outside a longer one.
nested AS (
    SELECT phrase_of(words[first:last]) AS phrase, max(chunks) AS inside
    FROM bound, range(1, 5) f(first), range(1, 5) l(last)
    WHERE first <= last AND last <= len(words) AND last - first + 1 < len(words) GROUP BY 1
)
-- Terms of several words come first, since they are terms more often.
SELECT phrase FROM bound LEFT JOIN nested USING (phrase) ANTI JOIN named USING (phrase)
WHERE bound.chunks > coalesce(inside, 0)
QUALIFY row_number() OVER (ORDER BY len(words) = 1, bound.chunks DESC, phrase)
    <= greatest((SELECT chunks FROM total), 2 * (SELECT count(*) FROM named));

CREATE TEMP TABLE term_mention AS
WITH counted AS (SELECT source, chunk_id, extraction_key, 1 + max(mention_index) AS mentions FROM entity_mention GROUP BY ALL)
SELECT c.extraction_source AS source, p.chunk_id, c.extraction_key,
       (coalesce(n.mentions, 0) + row_number() OVER (PARTITION BY p.chunk_id ORDER BY p.phrase) - 1)::INT AS mention_index,
       p.phrase AS name, 'term' AS type, 'A term of these texts.' AS description
FROM phrase p SEMI JOIN term USING (phrase)
JOIN chosen c ON p.chunk_id = c.chunk_id
LEFT JOIN counted n
ON n.chunk_id = c.chunk_id AND n.source = c.extraction_source AND n.extraction_key = c.extraction_key;
