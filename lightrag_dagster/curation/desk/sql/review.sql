-- The pairs of `candidates` that a person is shown, with what `entities` says of both.
SELECT
    c.entity_id, c.other_id, c.name, c.other, c.score, c.verdict, c.found_by, c.likeness, c.cosine,
    one.type, two.type AS other_type,
    one.mention_count AS mentions, two.mention_count AS other_mentions,
    one.sources, two.sources AS other_sources,
    replace(one.description, '<SEP>', ' ') AS description, replace(two.description, '<SEP>', ' ') AS other_description
FROM candidates c
JOIN entities one ON one.entity_id = c.entity_id
JOIN entities two ON two.entity_id = c.other_id
WHERE c.verdict <> 'unlikely'
ORDER BY c.score DESC, c.entity_id, c.other_id
