-- The rows of `chosen` and `citation` that the mentions of one call may need: those files are in order of source and chunk,
-- so that little else is read. Otherwise every call would read all chunks.
SET VARIABLE span = (
    SELECT {'first_source': min(source), 'last_source': max(source), 'first': min(chunk_id), 'last': max(chunk_id)} FROM (
        SELECT source, chunk_id FROM entity_mention UNION ALL SELECT source, chunk_id FROM relation_mention
    )
);

CREATE TEMP MACRO in_span(chunks) AS TABLE
FROM query_table(chunks)
WHERE extraction_source BETWEEN getvariable('span').first_source AND getvariable('span').last_source
  AND chunk_id BETWEEN getvariable('span').first AND getvariable('span').last;

CREATE TEMP VIEW chosen AS FROM in_span('all_chosen');
CREATE TEMP VIEW citation AS FROM in_span('all_citations');
