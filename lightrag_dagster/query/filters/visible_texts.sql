-- Of the texts that people wrote, those that allowed documents show: the sources that the decision names are allowed whole,
-- or allowed evidence has the same name, or the same type. Registered before: written_text, mapped_type.
WITH whole AS (
    SELECT nfc_normalize(source) AS source FROM raw_documents WHERE has_text(status)
    GROUP BY nfc_normalize(source) HAVING bool_and(doc_id IN (SELECT doc_id FROM allowed_document))
),
shown AS (
    SELECT 'name' AS column_name, name AS text FROM said_of_entity
    UNION SELECT 'name', src FROM said_of_relation
    UNION SELECT 'name', tgt FROM said_of_relation
    UNION SELECT 'type', coalesce(m.type, lower(s.type)) FROM said_of_entity s LEFT JOIN mapped_type m ON lower(s.type) = m.given
)
SELECT number FROM written_text w
WHERE len(sources) > 0 AND list_has_all((SELECT coalesce(list(source), []) FROM whole), sources)
OR EXISTS (SELECT 1 FROM shown s WHERE s.column_name = w.column_name AND s.text = w.text)
