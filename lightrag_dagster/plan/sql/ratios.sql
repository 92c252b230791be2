-- Calls, input and output tokens of the answered questions in `extractions`, for a first question or a token of it,
-- each followed by how far one question deviates. A first question has the tokens of its instructions, of its chunk, and
-- about one for 4 characters of its section.
WITH texts AS (
    SELECT chunk_id, any_value(tokens + length(coalesce(context, heading, '')) / 4) AS tokens FROM chunks GROUP BY chunk_id
), asked AS (
    SELECT rounds, input_tokens, output_tokens, $instructions + tokens AS question
    FROM extractions JOIN texts USING (chunk_id)
    WHERE status = 'ok' AND input_tokens > 0
)
SELECT
    avg(rounds), stddev_pop(rounds),
    sum(input_tokens) / sum(question), stddev_pop(input_tokens / question),
    sum(output_tokens) / sum(question), stddev_pop(output_tokens / question)
FROM asked
