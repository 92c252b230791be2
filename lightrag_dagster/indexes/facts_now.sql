-- The facts that hold today.
CREATE VIEW facts_now AS
SELECT * FROM fact_spans
WHERE coalesce(holds_from <= current_date, true) AND coalesce(holds_to >= current_date, true);
