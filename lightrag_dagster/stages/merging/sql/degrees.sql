-- Names and degrees of a bucket's entities, for each bucket that has relations of them.
SELECT entity_id, g.name, g.degree, bucket
FROM (SELECT DISTINCT entity_id, bucket_of(relation_id) AS bucket FROM endpoint) JOIN entity_group g USING (entity_id)
