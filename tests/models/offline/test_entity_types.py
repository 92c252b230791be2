import pytest

from lightrag_dagster.models.offline.extractor import extract


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("She met Anna Vollmoor there.", "Anna Vollmoor", "person"),
        ("It was led by Oskar Vollmoor.", "Oskar Vollmoor", "person"),
        ("We asked Hesper Vollmoor, the lock keeper.", "Hesper Vollmoor", "person"),
        ("We know that Hesper Vollmoor wrote it.", "Hesper Vollmoor", "person"),
        ("We know George T. Vollmoor.", "George T. Vollmoor", "person"),
        ("Then Mr. Pym left.", "Pym", "person"),
        ("The contract with Tollgate Telemetry, approved by Anna Berg.", "Tollgate Telemetry", "other"),
        ("It joined the European Union.", "European Union", "organization"),
        ("We went to the University of Calder.", "University of Calder", "organization"),
        ("It flows into Mill Creek.", "Mill Creek", "location"),
        ("It flows into Lake Arun.", "Lake Arun", "location"),
        ("It is in Germany.", "Germany", "location"),
        ("The house stands in the Lindenstraße today.", "Lindenstraße", "location"),
        ("After the Battle of Grünfeld it rained.", "Battle of Grünfeld", "event"),
        ("It was on 3 May 2024.", "3 May 2024", "date"),
        ("It costs $5 million.", "$5 million", "number"),
        ('They read "The Quiet Harbour" aloud.', "The Quiet Harbour", "title"),
        ("We call `db-primary-2` there.", "db-primary-2", "term"),
        ("田中さんは北京大学と深圳市にいる。", "田中", "person"),
        ("田中さんは北京大学と深圳市にいる。", "深圳市", "location"),
    ],
)
def test_types(text: str, name: str, expected: str) -> None:
    assert {entity.name: entity.type for entity in extract(text).entities}[name] == expected
