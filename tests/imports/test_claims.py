"""Claims of GraphRAG: read as facts by a pass of their own, and by nothing else than what their text has."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from lightrag_dagster.imports import Imported, import_base, read_graphrag
from lightrag_dagster.imports.stored import StoredBase, key_of
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.plan.plan import make_plan
from lightrag_dagster.purge.documents import find_gone
from lightrag_dagster.purge.purge import purge, purging
from lightrag_dagster.query.knowledge_base import KnowledgeBase
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.stages.facts.passes import load_passes
from lightrag_dagster.storage.home import Home
from tests.imports.test_graphrag import MOST, tables, write
from tests.loopback import END_MARK, Loopback
from tests.passes import is_of_pass, write_schemas
from tests.support import FLOOD, OFFICE, build
from tests.traces import places

CLOSED = "Jonas Feld closed Station 14 and called Orrin Instruments."
DAMAGED = "The flood of March 2021 damaged Halden Weir."
NEW = "Ulla Berg keeps the archive in Bergen."


def claim(subject: str, target: str, kind: str, said: str, **others: str) -> dict[str, Any]:
    """Return a row of covariates.parquet, with the columns of GraphRAG 1.0 to 3.3."""
    return {
        "id": f"{subject} {kind}", "human_readable_id": 1, "covariate_type": "claim", "type": kind,
        "description": f"{subject} did it.", "subject_id": subject, "object_id": target, "status": "TRUE",
        "start_date": "NONE", "end_date": "NONE", "source_text": said, "text_unit_id": "u1",
    } | others  # fmt: skip


MARCH = {"start_date": "2021-03-01T00:00:00", "end_date": "2021-03-31T00:00:00"}
CLAIMS = [
    claim("JONAS FELD", "STATION 14", "CLOSURE", CLOSED),
    claim("HALDEN WEIR", "NONE", "DAMAGE", DAMAGED, **MARCH),
    claim("PRIYA NAIR", "STATION 14", "REPAIR", "Priya Nair repaired the sensor at Station 14", status="SUSPECTED"),
]


@pytest.fixture
def paid(tmp_path: Path, loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings of an empty home that name no folder of schemas; a server answers with nothing."""
    monkeypatch.chdir(tmp_path)
    loopback.chat = lambda body: '{"facts": []}' if is_of_pass(body) else END_MARK
    (tmp_path / "sources").mkdir()
    return load_settings(
        home=tmp_path / "home",
        sources=tmp_path / "sources",
        llm={"provider": "openai", "model": "a", "max_retries": 0},
        embedding={"provider": "openai", "model": "b", "dimensions": 8},
    )


def base_of(folder: Path, claims: Sequence[dict[str, Any]] = CLAIMS) -> StoredBase:
    return read_graphrag(write(folder, tables() | {"covariates": list(claims)}), MOST)


def imported(settings: Settings, base: StoredBase, *, dry_run: bool = False) -> Imported:
    return import_base(settings, "notes", base, same_embedder=False, dry_run=dry_run)


def of_passes(server: Loopback) -> int:
    return sum("messages" in one.body and is_of_pass(one.body) for one in server.requests)


def said_by(base: StoredBase, text: str = FLOOD) -> list[dict[str, str]]:
    [answer] = base.claims[key_of(text)]
    facts: list[dict[str, str]] = json.loads(answer)["facts"]
    return facts


def rows(settings: Settings, query: str) -> list[tuple[Any, ...]]:
    with KnowledgeBase.open(settings=settings) as knowledge:
        return [tuple(row.values()) for row in knowledge.sql(query).to_pylist()]


@pytest.mark.long
def test_claims_are_facts_without_a_question(paid: Settings, tmp_path: Path, loopback: Loopback) -> None:
    base = base_of(tmp_path / "output")
    made = imported(paid, base)
    assert loopback.requests == []
    [planned] = made.plan.sources
    assert (planned.passes["claims"].chunks_new, planned.passes["claims"].chunks_stored) == (0, 2)
    assert base.notes == [
        "claims, which are facts: 3",
        "the schema of claims is read when lightrag.yaml has the line `readings: readings`",
    ]
    build(paid.model_copy(update={"readings": Path("readings")}))
    assert not any("messages" in one.body for one in loopback.requests)
    facts = rows(
        paid,
        "SELECT subject, relation, object, value, when_words, valid_from, words, path FROM fact_evidence ORDER BY ALL",
    )
    assert [tuple(map(str, fact)) for fact in facts] == [
        ("Halden Weir", "damage (no object)", "None", DAMAGED, "of March 2021", "2021-03-01", DAMAGED, "notes.txt"),
        ("Jonas Feld", "closure", "Station 14", "None", "None", "None", CLOSED, "notes.txt"),
        ("Priya Nair", "repair (suspected)", "Station 14", "None", "None", "None",
         "Priya Nair repaired the sensor at Station 14", "notes.txt"),
    ]  # fmt: skip
    assert rows(paid, "SELECT DISTINCT recipe, model FROM readings") == [("graphrag", "graphrag")]


@pytest.mark.long
def test_a_trial_writes_no_schema_and_says_the_same(paid: Settings, tmp_path: Path) -> None:
    trial = imported(paid, base_of(tmp_path / "output"), dry_run=True)
    assert not Path("readings").exists()
    assert trial == imported(paid, base_of(tmp_path / "output"))
    assert yaml.safe_load(Path("readings/claims.yaml").read_text())["sources"] == ["notes"]


LEFT_OUT = "others, whose words or day their text lacks, do not come along"
LACKING = [
    claim("JONAS FELD", "BERGEN", "ABSENCE", "He was never there, as all people say."),
    claim("JONAS FELD", "NONE", "ABSENCE", CLOSED, start_date="2019-01-01T00:00:00"),
    claim("JONAS FELD", "NONE", "ABSENCE", CLOSED, end_date="2019-01-01T00:00:00"),
]


@pytest.mark.long
def test_what_a_text_lacks_is_left_out_and_counted_and_withholds_no_other(paid: Settings, tmp_path: Path) -> None:
    base = base_of(tmp_path / "output", [*CLAIMS, *LACKING])
    imported(paid, base)
    assert base.notes[0] == f"claims, which are facts: 3; {LEFT_OUT}: 3"
    build(paid.model_copy(update={"readings": Path("readings")}))
    assert rows(paid, "SELECT facts, rejected_rows FROM read_facts WHERE facts > 0") == [(3, 0)]


def test_a_text_whose_claims_are_left_out_is_asked_about_no_more(tmp_path: Path) -> None:
    base = base_of(tmp_path / "output", LACKING)
    assert (said_by(base), base.notes) == ([], [f"claims, which are facts: 0; {LEFT_OUT}: 3"])
    assert set(base.schema["relations"]) == {"absence", "absence (no object)"}
    left = claim("ULLA", "NONE", "ABSENCE", "Nobody said this.", text_unit_id="u2")
    assert base_of(tmp_path / "more", [*CLAIMS, left]).claims[key_of(OFFICE)] == ('{"facts": []}',)


@pytest.mark.long
def test_from_then_on_it_is_a_plain_source(paid: Settings, tmp_path: Path, loopback: Loopback) -> None:
    imported(paid, base_of(tmp_path / "output"))
    named = paid.model_copy(update={"readings": Path("readings")})
    build(named)
    (paid.sources / "notes" / "office.txt").write_text(NEW)
    build(named)
    assert of_passes(loopback) == 1
    assert len(rows(named, "FROM merged_facts")) == 3
    plan = make_plan(named, ["notes"], backfill=True)
    assert plan.sources[0].passes["claims"].chunks_new == 1
    (paid.sources / "notes" / "notes.txt").unlink()
    build(named.changed(documents={"accept_deletes": True}))
    assert rows(named, "FROM merged_facts") == []
    situation = Situation.looking(named)
    gone = find_gone(situation, ["notes/notes.txt"])
    with purging(situation.recipes, gone) as now:
        purge(now, gone)
    assert not places(Home(paid.home), ["closed Station 14"])
    build(named, backfill=True)
    [recipe] = rows(named, "SELECT DISTINCT recipe FROM readings")[0]
    assert recipe == Recipes.of(named).readings(Recipes.of(named).passes["claims"])


@pytest.mark.long
def test_again_with_the_file_that_is_there(paid: Settings, tmp_path: Path) -> None:
    imported(paid, base_of(tmp_path / "output"))
    more = base_of(tmp_path / "output", [*CLAIMS, claim("BERGEN", "NONE", "OPENING", OFFICE, text_unit_id="u2")])
    before = Path("readings/claims.yaml").read_text()
    imported(paid, more)
    assert Path("readings/claims.yaml").read_text() == before
    assert "claims left out, since claims.yaml lacks their relations: opening (no object)" in more.notes
    other = base_of(tmp_path / "output")
    import_base(paid, "more", other, same_embedder=False)
    assert "claims do not come along: claims.yaml reads other sources; name more in it as well" in other.notes


@pytest.mark.parametrize("status", ["TRUE", "FALSE", "SUSPECTED", "", None, "MAYBE"])
def test_no_status_is_lost(tmp_path: Path, status: str | None) -> None:
    [fact] = said_by(base_of(tmp_path, [CLAIMS[0] | {"status": status}]))
    marks = {"TRUE": "", "FALSE": " (false)", "SUSPECTED": " (suspected)"}
    assert fact["relation"] == f"closure{marks.get(status or '', ' (of unknown status)')}"


def test_the_longest_of_several_quotes_counts(tmp_path: Path) -> None:
    several = f'"He slept, they say." "{CLOSED}"\n"Station 14."'
    [fact] = said_by(base_of(tmp_path, [CLAIMS[0] | {"source_text": several}]))
    assert fact["words"] == CLOSED
    assert said_by(base_of(tmp_path, [CLAIMS[0] | {"source_text": "He slept for long. Station 14."}])) == []


@pytest.mark.parametrize(
    ("first", "last", "when"),
    [
        ("2021-03-01T00:00:00", "2021-03-31T00:00:00", "of March 2021"),
        ("2021-03-01", "NONE", "of March 2021"),
        ("none", None, ""),
        ("2021", "", "2021"),
    ],
)
def test_a_day_is_in_the_words_of_the_text(tmp_path: Path, first: str, last: str | None, when: str) -> None:
    [fact] = said_by(base_of(tmp_path, [CLAIMS[0] | {"start_date": first, "end_date": last}]))
    assert fact["when"] == when


@pytest.mark.parametrize("days", [("2021-03-02", "2021-03-02"), ("NONE", "2021-03-31")])
def test_a_day_that_the_text_lacks_is_no_fact(tmp_path: Path, days: tuple[str, str]) -> None:
    odd = CLAIMS[0] | dict(zip(("start_date", "end_date"), days, strict=True))
    assert said_by(base_of(tmp_path, [odd])) == []


@pytest.mark.parametrize(
    "kind", ["NONE", "", None, "???", "a: [b]\nc: {d}", "yes", "\x00\u202e'\"", "x" * 5_000, "CLOSURE (FALSE)"]
)
def test_a_type_of_any_letters_is_a_relation_of_a_schema(tmp_path: Path, kind: str | None) -> None:
    odd = [CLAIMS[0] | {"status": "FALSE"}, CLAIMS[1] | {"type": kind}, CLAIMS[0] | {"type": kind}]
    base = base_of(tmp_path / "output", odd)
    said = yaml.safe_dump(dict(base.schema), sort_keys=False, allow_unicode=True)
    relations = load_passes(write_schemas(tmp_path / "schemas", claims=said))["claims"].relations
    assert {one["relation"] for one in said_by(base)} == set(relations)


def test_rare_types_are_one(tmp_path: Path) -> None:
    base = base_of(tmp_path, [*CLAIMS[:1] * 2, *(CLAIMS[0] | {"type": f"KIND {number}"} for number in range(200))])
    assert len(base.schema["relations"]) == 101
    assert {"closure", "claim"} < set(base.schema["relations"])


def test_without_claims_there_is_no_schema(tmp_path: Path) -> None:
    base = read_graphrag(write(tmp_path, tables()), MOST)
    assert (base.schema, base.notes) == ({}, [])


def test_a_range_of_the_text_is_a_range(tmp_path: Path) -> None:
    text = "Ada Lindt chaired the board from 3 May 2015 to June 2018, and left in 2019."
    made = tables()
    made["text_units"][0]["text"] = made["documents"][0]["text"] = text
    days = {"start_date": "2015-05-03T00:00:00", "end_date": "2018-06-30T00:00:00"}
    made["covariates"] = [claim("ADA LINDT", "NONE", "CHAIR", text, **days)]
    [fact] = said_by(read_graphrag(write(tmp_path, made), MOST), text)
    assert (fact["subject"], fact["when"]) == ("Ada Lindt", "from 3 May 2015 to June 2018,")
