-- Numbers of found facts by their key, each with its newest facts. Registered before: found.
SELECT coalesce(min(said), key) AS key, count(*) AS count, list(fact_id ORDER BY day DESC NULLS LAST, fact_id)[:$evidence] AS fact_ids,
       count(*) OVER () AS keys, (sum(count(*)) OVER ())::BIGINT AS total
FROM found GROUP BY found.key
ORDER BY CASE WHEN $by::VARCHAR = 'year' THEN key END DESC NULLS LAST, count DESC, key
LIMIT $most
