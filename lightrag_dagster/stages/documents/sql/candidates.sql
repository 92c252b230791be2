-- Pairs of documents of a view `now` that may say nearly the same, by the sketches in a view `stamps`: path, like. They
-- are equal in one of sixteen bands of four places. Each is paired with the first of its band alone, so that a text that
-- many share makes few pairs.
WITH banded AS (
    SELECT path, band, hash(sketch[4 * band + 1 : 4 * band + 4]) AS part
    FROM now JOIN stamps USING (doc_id), range(16) AS bands(band)
    WHERE status = 'processed' AND len(sketch) = 64
), first AS (
    SELECT band, part, min(path) AS "like" FROM banded GROUP BY band, part HAVING count(*) > 1
)
SELECT DISTINCT path, "like" FROM banded JOIN first USING (band, part) WHERE path <> "like"
