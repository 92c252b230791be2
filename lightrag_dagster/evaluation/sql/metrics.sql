-- What each question was worth in each mode.
-- gold: question, item. hits: mode, question, rank (from 1), item; a chunk is an item, and so is each document it
-- stands in. asked: mode, question. $k: how many chunks count.
WITH matches AS (
    SELECT mode, question, item, rank FROM hits JOIN gold USING (question, item)
),
first_ranks AS (
    SELECT mode, question, item, min(rank) AS rank FROM matches GROUP BY ALL
),
gained AS (
    SELECT
        mode,
        question,
        count(*) FILTER (rank <= $k) AS found,
        count(*) FILTER (rank <= 2) AS found_at_2,
        min(rank) AS best,
        coalesce(sum(1 / log2(rank + 1) ORDER BY rank) FILTER (rank <= $k), 0) AS gain
    FROM first_ranks
    GROUP BY ALL
),
relevant AS (
    SELECT mode, question, count(DISTINCT rank) FILTER (rank <= $k) AS chunks FROM matches GROUP BY ALL
),
wanted AS (
    SELECT question, count(*) AS items FROM gold GROUP BY ALL
),
ideal AS (
    SELECT items, list_sum([1 / log2(place + 1) FOR place IN range(1, least(items, $k) + 1)]) AS gain
    FROM (SELECT DISTINCT items FROM wanted)
)
SELECT
    asked.mode,
    asked.question,
    coalesce(gained.found / wanted.items, 0)::DOUBLE AS recall,
    coalesce(gained.found_at_2 / wanted.items, 0)::DOUBLE AS recall_at_2,
    coalesce(relevant.chunks / $k, 0)::DOUBLE AS precision,
    coalesce(1 / gained.best, 0)::DOUBLE AS mrr,
    -- Two gold documents with the same text share one chunk, and then one rank: never more than the ideal.
    least(1, coalesce(gained.gain, 0) / ideal.gain)::DOUBLE AS ndcg
FROM asked
JOIN wanted USING (question)
JOIN ideal USING (items)
LEFT JOIN gained USING (mode, question)
LEFT JOIN relevant USING (mode, question)
ORDER BY asked.mode, asked.question
