-- The facts that meet the conditions, with what they are counted by. Registered before: fact.
CREATE OR REPLACE TEMP TABLE found AS
SELECT fact_id, coalesce(valid_from, valid_to) AS day,
       CASE $by::VARCHAR
           WHEN 'relation' THEN relation
           WHEN 'subject' THEN subject_id
           WHEN 'object' THEN object_id
           WHEN 'type' THEN subject_type
           WHEN 'year' THEN year(valid_from)::VARCHAR
           WHEN 'value' THEN CASE WHEN value IS NOT NULL THEN
               concat_ws(' ', value_kind, number, unit, value_date, CASE WHEN value_kind = 'text'
               OR regexp_full_match(value, '\d{16,}') THEN lower(value) END) END
       END AS key,
       CASE $by WHEN 'value' THEN value END AS said
FROM fact
WHERE coalesce(subject_id = $subject::VARCHAR, $subject IS NULL)
  AND coalesce(object_id = $object::VARCHAR, $object IS NULL)
  AND coalesce(list_contains($relation::VARCHAR[], relation), true)
  AND coalesce(list_contains($type::VARCHAR[], subject_type), $type IS NULL)
  AND ($text::VARCHAR IS NULL OR lower(value) = lower($text)
       -- The sign of the difference says whether a number or date is as compared; yes and no are no numbers.
       OR list_contains($signs::INT[], sign(coalesce(number - $number::DOUBLE, value_date - $day::DATE))::INT)
          AND (value_kind = 'yes/no') = $is_answer
          -- MW and mW are two units; one that no fact has as it is asked for, such as mw, is each of them.
          AND coalesce(unit = $unit::VARCHAR OR lower(unit) = lower($unit)
                       AND NOT EXISTS (SELECT 1 FROM fact WHERE unit = $unit), $unit IS NULL))
