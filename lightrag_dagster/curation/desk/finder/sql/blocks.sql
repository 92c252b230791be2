-- The pairs that any rule lets meet, and of these at most `most` an entity. A rule is a bit of `rules`, in order of RULES.
-- Every rule bounds the pairs an entity, so that their number grows with that of entities.

CREATE TEMP TABLE met AS
WITH by_place AS (
    SELECT
        n,
        type,
        row_number() OVER (PARTITION BY type ORDER BY sorted, n) AS place,
        row_number() OVER (PARTITION BY type ORDER BY reverse(compact), n) AS from_behind
    FROM name
),

equal_name AS (
    SELECT
        n,
        sorted AS key,
        row_number() OVER (PARTITION BY sorted ORDER BY n) AS place
    FROM name
    UNION ALL
    SELECT
        n,
        '=' || compact,
        row_number() OVER (PARTITION BY compact ORDER BY n)
    FROM name
),

acronym AS (
    SELECT
        initials AS key,
        list(n ORDER BY n) AS long
    FROM name
    WHERE len(initials) BETWEEN 2 AND 8
    GROUP BY initials
    HAVING count(*) <= getvariable('block')
),

rare AS (
    SELECT
        w,
        n,
        bits
    FROM word
    WHERE held_by BETWEEN 2 AND getvariable('block')
    QUALIFY row_number() OVER (PARTITION BY n, of_name ORDER BY held_by, w) <= getvariable('rarest')
),

kept_apart AS (
    SELECT
        least(one.n, other.n) AS a,
        greatest(one.n, other.n) AS b
    FROM apart
    INNER JOIN given AS one USING (entity_id)
    INNER JOIN given AS other ON apart.other_id = other.entity_id
),

rules AS (
    SELECT one.n AS a, other.n AS b, 1 AS rule, 0 AS bits
    FROM equal_name AS one
    INNER JOIN equal_name AS other ON one.key = other.key AND other.place BETWEEN one.place + 1 AND one.place + getvariable('most')
    UNION ALL
    SELECT name.n, unnest(acronym.long), 2, 0
    FROM name
    INNER JOIN acronym ON name.compact = acronym.key
    UNION ALL
    SELECT one.n, other.n, 4, one.bits
    FROM rare AS one
    INNER JOIN rare AS other ON one.w = other.w AND one.n < other.n
    UNION ALL
    SELECT one.n, other.n, 8, 0
    FROM (SELECT *, unnest(range(1, getvariable('beside') + 1)) AS step FROM by_place) AS one
    INNER JOIN by_place AS other ON one.type = other.type AND other.place = one.place + one.step
    UNION ALL
    SELECT one.n, other.n, 8, 0
    FROM (SELECT *, unnest(range(1, getvariable('beside') + 1)) AS step FROM by_place) AS one
    INNER JOIN by_place AS other ON one.type = other.type AND other.from_behind = one.from_behind + one.step
    UNION ALL
    SELECT a, b, 16, 0
    FROM near
)

SELECT
    least(a, b) AS a,
    greatest(a, b) AS b,
    bit_or(rule)::UTINYINT AS rules,
    sum(bits) AS bits
FROM rules
ANTI JOIN kept_apart ON least(rules.a, rules.b) = kept_apart.a AND greatest(rules.a, rules.b) = kept_apart.b
WHERE a <> b
GROUP BY ALL;

-- What the cheap score sees: equal names, likeness from the beginning, rare words in common, and nearness.
CREATE TEMP TABLE kept AS
WITH scored AS (
    SELECT
        a,
        b,
        rules,
        (rules & 1) * 10
        + jaro_winkler_similarity(one.text, other.text)
        + least(2, bits / log2(getvariable('entities')))
        + (one.type = other.type)::INTEGER * 0.1
        + (rules & 16) / 32
        + (rules & 2) / 2 AS score
    FROM met
    INNER JOIN name AS one ON met.a = one.n
    INNER JOIN name AS other ON met.b = other.n
),

ranked AS (
    SELECT a, b, row_number() OVER (PARTITION BY n ORDER BY score DESC, a, b) AS rank
    FROM (SELECT a AS n, a, b, score FROM scored UNION ALL SELECT b, a, b, score FROM scored)
)

SELECT
    scored.a::INTEGER AS a,
    scored.b::INTEGER AS b,
    rules
FROM scored
INNER JOIN (SELECT a, b FROM ranked WHERE rank <= getvariable('most') GROUP BY ALL HAVING count(*) = 2) USING (a, b)
ORDER BY a, b;
