-- The chunks that no kept row answers, each once, without those that a source sampled before has too: its questions are
-- asked once. `known` has a row for each kept answer, `elsewhere` the chunks of the sources before.
CREATE OR REPLACE TEMP TABLE to_ask AS
SELECT DISTINCT chunk_id FROM chunk ANTI JOIN known USING (chunk_id) ANTI JOIN elsewhere USING (chunk_id);
