-- The summaries of a generation, and how many of them new answers about $asked of its $chunks chunks should touch: each
-- answer names a thing as often as the chunks do.
SELECT count(*), coalesce(sum(1 - (1 - least(1, chunk_count / $chunks)) ** $asked), 0)
FROM (FROM entities UNION ALL FROM relations) WHERE summary_recipe IS NOT NULL
