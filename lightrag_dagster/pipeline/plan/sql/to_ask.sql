-- The chunks that no kept row answers, each once; `known` has a row for each kept answer.
CREATE OR REPLACE TEMP TABLE to_ask AS SELECT DISTINCT chunk_id FROM chunk ANTI JOIN known USING (chunk_id);
