-- The documents of a view `now` that say nearly the same as another, among the pairs of a table `candidate`, by the
-- sketches in a view `stamps`: path, like, similarity.
WITH needed AS (
    SELECT path, content_hash, sketch
    FROM now JOIN stamps USING (doc_id)
    WHERE path IN (SELECT path FROM candidate UNION ALL SELECT "like" FROM candidate)
), one AS (
    SELECT path, "like", content_hash, sketch FROM candidate JOIN needed USING (path)
), compared AS (
    SELECT
        one.path,
        "like",
        len(list_filter(range(1, 65), lambda place: one.sketch[place] = other.sketch[place])) / 64 AS similarity
    FROM one JOIN needed AS other ON other.path = "like"
    WHERE one.content_hash <> other.content_hash
)
SELECT path, arg_max("like", similarity) AS "like", round(max(similarity), 2) AS similarity
FROM compared
WHERE similarity >= getvariable('least_similarity')
GROUP BY path
ORDER BY similarity DESC, path
