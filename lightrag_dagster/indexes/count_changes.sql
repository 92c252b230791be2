-- Count the rows of two views, `before` and `after`, with the columns id and hash, that differ.
SELECT count(*) FILTER (b.id IS NULL), count(*) FILTER (a.id IS NULL), count(*) FILTER (b.hash <> a.hash), count(b.id)
FROM before b FULL JOIN after a USING (id)
