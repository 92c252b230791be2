-- The files of a bundle: the last statement gives `path` and `content` of each. Before it there are the tables of a
-- snapshot; found, its communities; changed, the rows that differ from the snapshot before; the variable day, of its
-- publication; and the functions `cell`, a text as Markdown on one line, and `yaml`, in quotes.

-- A file name that no other id has, on disks that ignore case as well: letters and digits of the text, in any script, and
-- the last digits of the id.
CREATE TEMP MACRO page_of(text, id) AS ltrim(
    rtrim(left(ltrim(regexp_replace(lower(nfc_normalize(text)), '[^\p{L}\p{M}\p{N}]+', '-', 'g'), '-'), 50), '-')
    || '-' || right(id, 12), '-'
);

CREATE TEMP MACRO link(text, page) AS
    coalesce('[' || coalesce(nullif(cell(text), ''), '…') || '](' || page || '.md)', cell(text));

-- A last line with the number of those that are left out; null without any.
CREATE TEMP MACRO more_of(start, left_out) AS CASE WHEN left_out > 0 THEN start || ' and ' || left_out || ' more' END;

-- Parts of a page, with a blank line between them.
CREATE TEMP MACRO blank() AS chr(10) || chr(10);

-- The first of the texts of a description on one line, cut.
CREATE TEMP MACRO line_of(text) AS left(
    regexp_replace(trim(split_part(text, '<SEP>', 1)), '\s+', ' ', 'g'), 299
) || CASE WHEN length(split_part(text, '<SEP>', 1)) > 299 THEN '…' ELSE '' END;

-- A field of front matter; null where it is empty.
CREATE TEMP MACRO field(name, text) AS name || ': ' || yaml(nullif(text, ''));

CREATE TEMP MACRO list_field(name, texts) AS
    name || ': [' || nullif(array_to_string(list_transform(texts, lambda one: yaml(one)), ', '), '') || ']';

-- A date as exactly as it is known.
CREATE TEMP MACRO day_of(day, precision) AS
    left(day::VARCHAR, CASE precision WHEN 'year' THEN 4 WHEN 'month' THEN 7 ELSE 10 END);

-- True where a text runs on into another without a border: letters of scripts that put spaces between words, or digits.
CREATE TEMP MACRO joined(text, next) AS regexp_full_match(
    right(text, 1) || left(next, 1),
    '(?:[^\P{L}\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]|[\p{M}\p{N}]){2}'
);

-- The first place of a name as a whole word, from the parts of a text that are between all of its places; null without one.
CREATE TEMP MACRO place_of(parts, name) AS 1 - length(name) + list_sum(list_transform(
    parts[:list_filter(
        range(1, len(parts)), lambda n: NOT joined(parts[n], name) AND NOT joined(name, parts[n + 1])
    )[1]], lambda one: length(one) + length(name)
))::BIGINT;

-- The sentence of a passage that has a name, from its text as it is; null where the name does not stand there. A full stop
-- ends none within `1.250`, after a short number (`1. April`) or after a short word with a capital (`Dr.`, `Mio.`).
CREATE TEMP MACRO within() AS '(?:\b(?:\d{1,2}|\p{Lu}\p{Ll}{0,2})\. |[.!?][^\s.!?]|[^.!?。！？｡\n])*';
CREATE TEMP MACRO sentence_of(content, name, place) AS CASE WHEN place > 0 THEN
    ltrim(regexp_extract(right(left(content, place - 1), 200), within() || '$')) || substr(content, place, length(name))
    || regexp_extract(substr(content, place + length(name), 300), '^' || within() || '[.!?。！？｡]*')
END;

CREATE TEMP TABLE document AS
SELECT doc_id, page_of(path, doc_id) AS page, source, path, title, summary, author, date, language, tags
FROM raw_documents WHERE has_text(status);

CREATE TEMP TABLE page AS
SELECT entity_id, page_of(name, entity_id) AS page, name, CASE WHEN cell(type) = '' THEN 'unknown' ELSE type END AS type,
       description, sources
FROM entities;

-- The lines of pages, by section: the first passage of each of the newest 10 documents that name an entity, ..
CREATE TEMP TABLE line AS
WITH named AS (
    FROM entity_evidence QUALIFY row_number() OVER (PARTITION BY entity_id, doc_id ORDER BY chunk_id, mention_index) = 1
),
numbered AS (
    SELECT entity_id, doc_id, chunk_id, n.name, date,
           row_number() OVER (PARTITION BY entity_id ORDER BY date DESC NULLS LAST, doc_id) AS place,
           count(*) OVER (PARTITION BY entity_id) AS total
    FROM named n JOIN document USING (doc_id)
),
passage AS (SELECT doc_id, chunk_id, any_value(content) AS content FROM chunks GROUP BY ALL)
SELECT entity_id, 'Quotes' AS section, place, total, doc_id, coalesce(
    '“' || cell(sentence_of(content, name, place_of(parts, name))) || '”', 'Named there.'
) || coalesce(' (' || date || ')', '') AS said
FROM (
    SELECT *, string_split(lower(content), lower(name)) AS parts
    FROM numbered JOIN passage USING (doc_id, chunk_id) WHERE place <= 10
);

-- .. the first 100 facts that it is an end of, with the first words that say each, ..
INSERT INTO line
WITH words AS (
    SELECT fact_id, words, doc_id FROM fact_evidence
    QUALIFY row_number() OVER (PARTITION BY fact_id ORDER BY chunk_id, pass, fact_index) = 1
),
ends AS (
    SELECT subject_id AS entity_id, * FROM merged_facts UNION ALL
    SELECT object_id, * FROM merged_facts WHERE object_id <> subject_id
),
numbered AS (
    SELECT *, row_number() OVER (PARTITION BY entity_id ORDER BY relation, valid_from, fact_id) AS place,
           count(*) OVER (PARTITION BY entity_id) AS total
    FROM ends
)
SELECT n.entity_id, 'Facts', place, total, doc_id,
       link(s.name, CASE WHEN subject_id <> n.entity_id THEN s.page END) || ' **' || cell(relation) || '** '
       || link(coalesce(o.name, value, ''), CASE WHEN object_id <> n.entity_id THEN o.page END)
       || coalesce(', from ' || day_of(valid_from, from_precision), '')
       || coalesce(', to ' || day_of(valid_to, to_precision), '')
       || CASE WHEN coalesce(valid_from, valid_to) IS NULL THEN coalesce(', ' || cell(when_words), '') ELSE '' END
       || coalesce(': “' || cell(words) || '”', '')
FROM numbered n LEFT JOIN words USING (fact_id)
LEFT JOIN page s ON s.entity_id = subject_id LEFT JOIN page o ON o.entity_id = object_id
WHERE place <= 100;

-- .. and the 100 neighbours with the largest weight, by name.
INSERT INTO line
WITH ends AS (
    SELECT src_id AS entity_id, tgt_id AS other_id, keywords, description, weight FROM relations UNION ALL
    SELECT tgt_id, src_id, keywords, description, weight FROM relations
),
numbered AS (
    SELECT *, row_number() OVER (PARTITION BY entity_id ORDER BY weight DESC, other_id) AS place,
           count(*) OVER (PARTITION BY entity_id) AS total
    FROM ends
)
SELECT n.entity_id, 'Neighbours', row_number() OVER (PARTITION BY n.entity_id ORDER BY p.name, p.page), total, NULL,
       concat_ws(' - ', link(p.name, p.page), nullif(concat_ws(': ', cell(keywords), cell(line_of(n.description))), ''))
FROM numbered n JOIN page p ON p.entity_id = other_id WHERE place <= 100;

CREATE TEMP TABLE section AS
SELECT entity_id, section, any_value(total) - count(*) AS more,
       '## ' || section || blank() || concat_ws(
           chr(10), string_agg('- ' || said || coalesce('[^' || document.page || ']', ''), chr(10) ORDER BY place),
           more_of('-', more)
       ) AS content
FROM line LEFT JOIN document USING (doc_id) GROUP BY entity_id, section;

-- The documents that a page cites: in its front matter, and as footnotes of the same names.
CREATE TEMP TABLE cited AS
SELECT entity_id, 'sources: [' || chr(10) || string_agg('  {' || concat_ws(
    ', ', '"id": ' || yaml(page), '"resource": ' || yaml('../documents/' || page || '.md'), '"title": ' || yaml(title),
    '"last_modified": ' || yaml(date || 'T00:00:00Z')
) || '}', ',' || chr(10) ORDER BY page) || ']' AS sources,
string_agg('[^' || page || ']: In ' || link(title, '../documents/' || page), chr(10) ORDER BY page) AS footnotes
FROM (SELECT DISTINCT entity_id, doc_id FROM line) JOIN document USING (doc_id) GROUP BY entity_id;

-- The folder of a community is named after its entity with most relations, so that it stays when others come and go.
CREATE TEMP TABLE listed AS
SELECT 'types/' || page_of(type, md5(type)) || '/index' AS place, 'Types' AS kind, type AS title, name,
       '../../entities/' || page AS page, description
FROM page
UNION ALL
SELECT 'communities/' || hub.page || '/index', 'Communities', words, p.name, '../../entities/' || p.page, p.description
FROM (SELECT unnest(entity_ids) AS entity_id, entity_ids[1] AS hub_id, name AS words FROM found WHERE level = 0)
JOIN page p USING (entity_id) JOIN page hub ON hub.entity_id = hub_id
UNION ALL
SELECT 'documents/index', 'Documents', 'All documents', source || '/' || path, page, summary FROM document;

CREATE TEMP TABLE indexes AS
SELECT place, kind, title, count(*) AS pages, string_agg(
    '* ' || concat_ws(' - ', link(name, page), nullif(cell(line_of(description)), '')), chr(10) ORDER BY name, page
) AS content
FROM listed GROUP BY place, kind, title;

WITH logged AS (
    SELECT kind, count(*) OVER (PARTITION BY kind) AS total,
           row_number() OVER (PARTITION BY kind ORDER BY c.name, id) AS place,
           '* **' || CASE change WHEN 'added' THEN 'Creation' WHEN 'changed' THEN 'Update' ELSE 'Deletion' END || '**: '
           || kind || ' ' || link(c.name, coalesce('entities/' || p.page, 'documents/' || d.page))
           || coalesce(': ' || nullif(array_to_string(shown, ', '), ''), '') AS said
    FROM (
        -- No page shows where another stands, or the rank.
        SELECT *, list_filter(columns, lambda one: one NOT IN ('chunk_ids', 'rank')) AS shown FROM changed
    ) c LEFT JOIN page p ON entity_id = id LEFT JOIN document d ON doc_id = id
    WHERE change <> 'changed' OR shown <> []
),
paragraph AS (
    SELECT entity_id, string_agg(nullif(cell(text), ''), blank() ORDER BY place) AS content
    FROM (
        SELECT entity_id, unnest(texts) AS text, unnest(range(len(texts))) AS place
        FROM (SELECT entity_id, string_split(description, '<SEP>') AS texts FROM page)
    ) GROUP BY entity_id
)
SELECT 'entities/' || page AS path, concat_ws(chr(10), '---', field('type', type), field('title', name),
    field('description', line_of(description)), list_field('tags', page.sources), field('entity_id', entity_id),
    cited.sources, '---', '') || chr(10) || concat_ws(blank(), '# ' || cell(name), paragraph.content, f.content,
    q.content, n.content, footnotes) || chr(10) AS content
FROM page LEFT JOIN paragraph USING (entity_id) LEFT JOIN cited USING (entity_id)
LEFT JOIN (FROM section WHERE section = 'Facts') f USING (entity_id)
LEFT JOIN (FROM section WHERE section = 'Quotes') q USING (entity_id)
LEFT JOIN (FROM section WHERE section = 'Neighbours') n USING (entity_id)
UNION ALL
SELECT 'documents/' || page, concat_ws(chr(10), '---', 'type: Document', field('title', title),
    field('description', line_of(summary)), list_field('tags', tags), field('source', source), field('path', path),
    field('author', author), field('date', date::VARCHAR), field('language', language), '---', '') || chr(10)
    || '# ' || cell(title) || blank() || cell(source || '/' || path) || chr(10)
FROM document
UNION ALL
SELECT place, '# ' || cell(title) || blank() || content || chr(10) FROM indexes
UNION ALL
SELECT 'index', concat_ws(
    chr(10), '---', 'okf_version: "0.2"', '---', '', string_agg(content, blank() ORDER BY kind), ''
)
FROM (
    SELECT kind, '# ' || kind || blank() || string_agg(
        '* ' || link(title, place) || ' - pages: ' || pages, chr(10) ORDER BY place
    ) AS content
    FROM indexes GROUP BY kind
)
UNION ALL
SELECT 'log', '# Changes' || blank() || '## ' || getvariable('day') || chr(10)
    || string_agg(content, chr(10) ORDER BY kind) || chr(10)
FROM (
    SELECT kind, concat_ws(
        chr(10), string_agg(said, chr(10) ORDER BY place), more_of('* ' || kind, any_value(total) - count(*))
    ) AS content
    FROM logged WHERE place <= 1000 GROUP BY kind
) HAVING count(*) > 0
