-- The documents of a view `now` whose text is nearly that of one with a smaller path, by the sketches in a view `stamps`:
-- path, like, similarity. Two documents are compared if they are equal in one of sixteen bands of four places, and each
-- with the first of its band alone, so that a text that many share makes few pairs.
WITH sketched AS (
    SELECT path, content_hash, sketch FROM now JOIN stamps USING (doc_id) WHERE status = 'processed' AND len(sketch) = 64
), banded AS (
    SELECT path, band, hash(sketch[4 * band + 1 : 4 * band + 4]) AS part FROM sketched, range(16) AS bands(band)
), first AS (
    SELECT band, part, min(path) AS "like" FROM banded GROUP BY band, part HAVING count(*) > 1
), pair AS (
    SELECT DISTINCT path, "like" FROM banded JOIN first USING (band, part) WHERE path <> "like"
), compared AS (
    SELECT
        pair.path,
        pair."like",
        len(list_filter(range(1, 65), lambda place: one.sketch[place] = other.sketch[place])) / 64 AS similarity
    FROM pair
    JOIN sketched AS one ON one.path = pair.path
    JOIN sketched AS other ON other.path = pair."like"
    WHERE one.content_hash <> other.content_hash
)
SELECT path, arg_max("like", similarity) AS "like", round(max(similarity), 2) AS similarity
FROM compared
WHERE similarity >= getvariable('least_similarity')
GROUP BY path
ORDER BY similarity DESC, path
