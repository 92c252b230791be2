-- A row for each mention of an entity: whether all words of its name are words of its chunk. Letters and digits make
-- words, in scripts without spaces each character one; wide Latin letters are narrow ones in names. DuckDB 1.0 and later
-- can read it.
CREATE VIEW grounding AS
WITH place AS (
    SELECT chunk_id, min({'doc_id': doc_id, 'chunk_index': chunk_index}) AS first FROM chunks GROUP BY chunk_id
),
text AS (
    SELECT chunk_id, 'chunk' AS kind, concat_ws(chr(10), heading, context, content) AS text
    FROM chunks JOIN place USING (chunk_id)
    WHERE doc_id = first.doc_id AND chunk_index = first.chunk_index
    UNION ALL
    SELECT DISTINCT name, 'name', name FROM entity_evidence
),
narrow AS (
    SELECT chunk_id AS id, kind, lower(nfc_normalize(translate(
        text,
        'ＡＢＣＤＥＦＧＨＩＪＫＬＭＮＯＰＱＲＳＴＵＶＷＸＹＺａｂｃｄｅｆｇｈｉｊｋｌｍｎｏｐｑｒｓｔｕｖｗｘｙｚ０１２３４５６７８９',
        'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
    ))) AS text
    FROM text
),
word_list AS (
    SELECT id, kind, regexp_extract_all(
        regexp_replace(text, '([\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}])', ' \1 ', 'g'), '[\p{L}\p{M}\p{N}]+'
    ) AS words
    FROM narrow
),
answer AS (SELECT chunk_id, extraction_key, min(recipe) AS recipe FROM extractions GROUP BY ALL)
SELECT e.entity_id, e.name, e.chunk_id, e.mention_index, e.source, a.recipe,
    CASE WHEN len(n.words) > 0 THEN list_has_all(c.words, n.words) END AS grounded
FROM entity_evidence e
JOIN answer a USING (chunk_id, extraction_key)
JOIN word_list c ON c.kind = 'chunk' AND c.id = e.chunk_id
JOIN word_list n ON n.kind = 'name' AND n.id = e.name;
