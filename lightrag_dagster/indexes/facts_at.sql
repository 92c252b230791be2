-- The facts that hold on a day.
CREATE MACRO facts_at(day) AS TABLE
SELECT * FROM fact_spans
WHERE coalesce(holds_from <= day::DATE, true) AND coalesce(holds_to >= day::DATE, true);
