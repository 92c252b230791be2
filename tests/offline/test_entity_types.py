import pytest

from lightrag_dagster.offline.entity_types import OTHER, Vote, decide
from lightrag_dagster.offline.extractor import extract


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("She met Anna Vollmoor there.", "Anna Vollmoor", "person"),
        ("The lock keeper Hesper Vollmoor wrote it.", "Hesper Vollmoor", "person"),
        ("Then Mr. Pym left.", "Pym", "person"),
        ("Zacharias Quill (born 1 May 1920) was here.", "Zacharias Quill", "person"),
        ("It shows Quorl Ammon, the engineer.", "Quorl Ammon", "person"),
        ("A film starring Abe Zorn, Mia Quent and Bo Frisk.", "Bo Frisk", "person"),
        ("Der Ingenieur Jost Albers kam und ist nicht da.", "Jost Albers", "person"),
        ("A report by Tollgate Telemetry.", "Tollgate Telemetry", "organization"),
        ("It joined the European Union.", "European Union", "organization"),
        ("We went to the University of Calder.", "University of Calder", "organization"),
        ("We bought it from Hydrotec GmbH.", "Hydrotec GmbH", "organization"),
        ("Orrin Instruments measures rivers.", "Orrin Instruments", "organization"),
        ("It flows into Mill Creek.", "Mill Creek", "location"),
        ("It flows into Lake Arun.", "Lake Arun", "location"),
        ("It is in Germany.", "Germany", "location"),
        ("They live in Quorlheim.", "Quorlheim", "location"),
        ("# Clonbrook\n\nClonbrook is a small village near us.", "Clonbrook", "location"),
        ("We saw the village of Bee Hive.", "Bee Hive", "location"),
        ("We read it at Station 9.", "Station 9", "location"),
        ("After the Battle of Grünfeld it rained.", "Battle of Grünfeld", "event"),
        ("We use a Kingfisher Radar.", "Kingfisher Radar", "artifact"),
        ("It was a Pellmar P7.", "Pellmar P7", "artifact"),
        ('They read the novel "The Quiet Harbour" aloud.', "The Quiet Harbour", "content"),
        ("Hot Saturday is a 1932 American drama film directed by a man.", "Hot Saturday", "content"),
        ("We keep the Two-Person Rule.", "Two-Person Rule", "method"),
        # no rule has a reason
        ("We took SG-0417 home.", "SG-0417", OTHER),
        ("We call `db-primary-2` there.", "db-primary-2", OTHER),
        ('The word "Object Code" is defined below.', "Object Code", OTHER),
        ("# Calibration\n\nIt is done in a cellar.", "Calibration", OTHER),
        ("# Logical Flow Charts and Their Rules\n\nWe draw.", "Logical Flow Charts", OTHER),
        ("It depends on the SNR alone.", "SNR", OTHER),
        ("We measured Phase Noise again.", "Phase Noise", OTHER),
        ("They used Dagster there.", "Dagster", OTHER),
        ("We saw it in RF. We saw it in RF again.", "RF", OTHER),
    ],
)
def test_types(text: str, name: str, expected: str) -> None:
    assert {entity.name: entity.type for entity in extract(text).entities}[name] == expected


def test_all_mentions_decide_together() -> None:
    text = "We saw Quorl Ammon again. Then Quorl Ammon was rebuilt. Quorl Ammon is a village in the hills."
    assert {entity.type for entity in extract(text).entities} == {"location"}


@pytest.mark.parametrize(
    ("votes", "expected"),
    [
        ([], OTHER),
        ([Vote("person", -3.0)], OTHER),
        ([Vote("person", 2.0), Vote("location", 3.0), Vote("person", 1.5)], "person"),
        ([Vote("location", 3.0), Vote("person", 3.0)], "person"),
        ([Vote("location", 2.0)] * 5, OTHER),
    ],
)
def test_the_type_with_most_votes_wins_the_first_one_a_tie_and_hints_give_none(
    votes: list[Vote], expected: str
) -> None:
    assert decide(votes) == expected
