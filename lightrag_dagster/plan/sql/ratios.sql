-- Calls, input and output tokens of the answered questions in `extractions`, for a first question or a token of it,
-- each followed by how far one question deviates. A first question has the tokens of its instructions, of its chunk, and
-- about one for 4 characters of its section. Those that a model like today's answered, if there are any, which the last
-- column tells: one of its name and effort, with any temperature and limit, which `$limits` finds in a name.
WITH texts AS (
    SELECT chunk_id, any_value(tokens + length(coalesce(context, heading, '')) / 4) AS tokens FROM chunks GROUP BY chunk_id
), answered AS (
    SELECT
        rounds, input_tokens, output_tokens, $instructions + tokens AS question,
        regexp_replace(coalesce(model, ''), $limits, '', 'g') = regexp_replace($model, $limits, '', 'g') AS todays
    FROM extractions JOIN texts USING (chunk_id)
    WHERE status = 'ok' AND input_tokens > 0
), asked AS (
    FROM answered WHERE todays OR NOT (SELECT bool_or(todays) FROM answered)
)
SELECT
    avg(rounds), stddev_pop(rounds),
    sum(input_tokens) / sum(question), stddev_pop(input_tokens / question),
    sum(output_tokens) / sum(question), stddev_pop(output_tokens / question),
    bool_and(todays)
FROM asked
