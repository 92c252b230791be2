-- Names at ends of relations of which an older version did not keep the entity.
SELECT src AS name FROM said_of_relation WHERE src_id IS NULL
UNION SELECT tgt FROM said_of_relation WHERE tgt_id IS NULL
