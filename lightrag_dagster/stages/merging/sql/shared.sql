-- What the merge shares with those who read its evidence: which chunks are listed first, and how much a relation weighs.
-- The members of each row in rounds: the first of each source is in round 1, the second in round 2, and so on. In turn they
-- are by round, then by source. `members` has id, member, source, and the position of the member in its source.
CREATE TEMP MACRO rounds(members) AS TABLE
SELECT *, CASE WHEN getvariable('keeps_first') THEN row_number() OVER of_source
               ELSE 1 + count(*) OVER (PARTITION BY id, source) - row_number() OVER of_source END AS round
FROM query_table(members) WINDOW of_source AS (PARTITION BY id, source ORDER BY position);

-- The sum of the weights of each row. They are added up in a fixed order, since the sum of floating-point numbers depends
-- on it; equal ones are counted first, so that no list is as long as the evidence.
CREATE TEMP MACRO summed_weights(statements) AS TABLE
SELECT id, list_sum(list(weight * times ORDER BY weight)) AS weight
FROM (SELECT id, weight, count(*) AS times FROM query_table(statements) GROUP BY ALL) GROUP BY id;
