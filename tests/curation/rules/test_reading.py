"""Decisions are an input of the merge: the same ones give the same build, and undone they leave nothing."""

import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.core.identity import entity_id
from lightrag_dagster.curation.desk.taking import accept_loss, take, undo
from lightrag_dagster.curation.rules.decisions import Decision
from lightrag_dagster.curation.rules.reading import decisions_of, in_force, taken
from lightrag_dagster.errors import DecisionError, LightRAGError
from lightrag_dagster.pipeline.inputs import next_inputs
from lightrag_dagster.pipeline.pending import Pending, pending
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.plan.plan import make_plan
from lightrag_dagster.purge.decided import erase_undone
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.generations import Generation
from tests.postgres import PostgresServer, new_schema
from tests.support import FLOOD, OFFICE, RIVER, build, published, snapshot_contents, write_source

Make = Callable[..., Settings]
SEVERAL = [
    Decision(action="merge", names=("Marta Lindqvist", "Priya Nair"), into="Marta Lindqvist"),
    Decision(action="retype", names=("Bergen",), type="city"),
    Decision(action="remove", names=("Station 14",)),
    Decision(action="split", names=("Jonas Feld",), into="Jonas Feld (office)", paths=("office.*",)),
    Decision(action="add", names=("Ulla Berg",), type="person", text="She keeps the archive."),
]

ROOT = Path(__file__).parents[2]
TAKES = """
import sys
from lightrag_dagster.curation.desk import take
from lightrag_dagster.curation.rules.decisions import Decision
from lightrag_dagster.settings import load_settings

for number in range(1, 1000):
    print(*take(load_settings(home=sys.argv[1]), [Decision(action="remove", names=(f"Name {number}",))]), flush=True)
"""


def looked(settings: Settings) -> Pending:
    return pending(Situation.looking(settings))


@pytest.fixture(scope="module")
def _built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("built")
    settings = load_settings(home=folder / "home", sources=folder / "sources")
    write_source(settings, "notes", {"river.md": RIVER, "flood.md": FLOOD, "office.md": OFFICE})
    build(settings, graph=True)
    return folder, snapshot_contents(settings)


@pytest.fixture
def before(_built: tuple[Path, dict[str, Any]]) -> dict[str, Any]:
    """What the snapshot without decisions holds."""
    return _built[1]


@pytest.fixture
def make(_built: tuple[Path, dict[str, Any]], tmp_path: Path) -> Make:
    """Give settings, by default those of a home with a snapshot."""

    def make(**changes: Any) -> Settings:
        return load_settings(**{"home": tmp_path / "home", "sources": tmp_path / "sources"} | changes)

    shutil.copytree(_built[0], tmp_path, dirs_exist_ok=True)
    return make


def entities(settings: Settings) -> dict[str, dict[str, Any]]:
    generation = Generation(Home.of(settings), published(settings).snapshot_id)
    return {row["name"]: row for row in generation.read_table("entities").to_pylist()}


@pytest.mark.long
def test_decisions_take_effect_with_the_next_run_ask_nothing_and_leave_nothing_when_undone(
    make: Make, before: dict[str, Any]
) -> None:
    settings = make()
    first = published(settings).snapshot_id
    ids = {row["entity_id"] for row in entities(settings).values()}

    assert take(settings, SEVERAL) == [1, 2, 3, 4, 5]
    assert pending(Situation.looking(settings)).publish is not None
    plan = make_plan(settings)
    assert [one.chunks_new for one in plan.sources] == [0], "no extraction is asked again"
    build(settings)
    found = entities(settings)
    assert found["Marta Lindqvist"]["mention_count"] > 1
    assert found["Bergen"]["type"] == "city"
    assert {"Jonas Feld", "Jonas Feld (office)", "Ulla Berg"} <= found.keys()
    assert not {"Priya Nair", "Station 14"} & found.keys()
    made = {entity_id(name) for name in ("Jonas Feld (office)", "Ulla Berg")}
    assert {row["entity_id"] for row in found.values()} == (ids | made) - {
        entity_id("Priya Nair"),
        entity_id("Station 14"),
    }, "others keep theirs"
    assert build(settings).published is None, "nothing changed"

    for number in (5, 4, 3, 2, 1):
        assert [one.number for one in undo(settings)] == [number]
    build(settings)
    assert published(settings).snapshot_id == first
    assert snapshot_contents(settings) == before
    assert [one.undone for one in taken(Home.of(settings))] == [True] * 5


@pytest.mark.long
def test_decisions_that_were_taken_survive_a_kill_and_the_one_under_way_is_whole_or_none(make: Make) -> None:
    settings = make()
    with subprocess.Popen(
        [sys.executable, "-c", TAKES, str(settings.home)], stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as taking:
        assert taking.stdout is not None
        told = [taking.stdout.readline() for _ in range(5)]
        taking.kill()
        told += taking.stdout.readlines()
    assert taking.returncode == -signal.SIGKILL
    numbers = [int(line) for line in told if line.endswith("\n")]
    assert len(numbers) >= 5
    found = taken(Home.of(settings))
    assert [one.number for one in found][: len(numbers)] == numbers
    assert len(found) <= len(numbers) + 1
    assert [one.decision.names for one in found] == [(f"Name {one.number}",) for one in found]
    assert take(settings, [SEVERAL[0]]) == [len(found) + 1]


@pytest.mark.long
@pytest.mark.parametrize("is_empty", [False, True])
def test_a_table_that_is_gone_is_not_taken_for_one_without_decisions(make: Make, is_empty: bool) -> None:
    settings = make()
    take(settings, SEVERAL[:2])
    build(settings)
    first, home = published(settings).snapshot_id, Home.of(settings)
    with pytest.raises(DecisionError, match=r"no decisions of .* are lost"):
        accept_loss(settings)

    file = home.root / "decisions.sqlite"
    file.unlink()
    if is_empty:
        file.touch()
    lost = "bytes" if is_empty else "decision.* number 2"
    for act in (looked, build, make_plan, lambda one: take(one, SEVERAL[2:])):
        with pytest.raises(LightRAGError, match=rf"decisions\.sqlite has no {lost}; restore .* --lost`"):
            act(settings)
    file.unlink(missing_ok=True)
    assert accept_loss(settings) == 2
    assert make_plan(settings).sources
    assert take(settings, SEVERAL[2:3]) == [3], "a number is given once"
    build(settings)
    assert published(settings).snapshot_id != first


@pytest.mark.long
def test_another_database_is_not_taken_for_one_without_decisions(
    make: Make, postgres: SecretStr, postgres_server: PostgresServer
) -> None:
    settings = make(database=postgres)
    take(settings, SEVERAL[:2])
    build(settings)
    first, other = published(settings), settings.changed(database=SecretStr(postgres_server.url(new_schema())))
    for act in (looked, build, make_plan, lambda one: take(one, SEVERAL[2:])):
        with pytest.raises(DecisionError, match=r"the database postgres at .* has no decision.* number 2; restore it"):
            act(other)
    assert accept_loss(other) == 2
    assert take(other, SEVERAL[2:3]) == [3], "a number is given once"
    build(other)
    assert published(other) != first
    undo(other)
    assert erase_undone(Home.of(other)) == 1
    assert taken(Home.of(other)) == []


@pytest.mark.long
def test_decisions_that_were_undone_and_erased_are_not_lost(make: Make) -> None:
    settings = make()
    take(settings, SEVERAL[:1])
    build(settings)
    undo(settings, [1])
    assert erase_undone(Home.of(settings)) == 1
    assert make_plan(settings).sources
    assert take(settings, SEVERAL[:1]) == [2]


def test_decisions_of_several_people_at_once_hold_together(make: Make) -> None:
    settings = make()

    def decide(number: int) -> bool:
        try:
            take(settings, [Decision(action="rename", names=("Bergen",), into=f"Bergen {number}")])
        except DecisionError:
            return False
        return True

    with ThreadPoolExecutor(8) as people:
        kept = list(people.map(decide, range(8)))
    assert len(in_force(settings).decisions) == kept.count(True) <= 1


@pytest.mark.long
def test_what_is_added_is_cited_as_a_document_of_its_own(make: Make) -> None:
    settings = make()
    take(settings, [SEVERAL[-1]])
    build(settings)
    with KnowledgeBase.open(settings.home) as knowledge:
        found = knowledge.retrieve("Who is Ulla Berg?", mode="mix")
    places = {(place.source, place.path) for chunk in found.chunks for place in chunk.citations}
    assert ("curation", "Ulla Berg") in places


def test_what_is_added_waits_for_an_earlier_source_of_that_name(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = make()
    write_source(settings, "curation", {"a.md": RIVER})
    with monkeypatch.context() as earlier:  # which took the name
        earlier.setattr("lightrag_dagster.stages.documents.sources.CURATION", "")
        build(settings, "curation")
    reason = "source name 'curation' may not be that of what people added by `curate add`; rename the folder"
    assert str(pending(Situation.looking(settings)).sources["curation"].problem).startswith(reason)
    assert "curation" in published(settings).inputs.sources

    (settings.sources / "curation").rename(settings.sources / "people")
    gone = "source 'curation' is gone, with its 1 document. The last accepted version stays published."
    assert pending(Situation.looking(settings)).rejected["curation"].startswith(gone)
    take(settings, [SEVERAL[-1]])
    with pytest.raises(DecisionError, match=f"^added entities cannot be merged while {gone}"):
        next_inputs(Situation.looking(settings))
    accepting = settings.changed(documents={"accept_deletes": ["curation"]})
    assert "curation" in next_inputs(Situation.looking(accepting)).sources


def test_a_decision_that_contradicts_another_is_refused_before_anything_is_done(make: Make, tmp_path: Path) -> None:
    file = tmp_path / "names.yaml"
    file.write_text("- rename: Bergen\n  into: Björgvin\n")
    settings = make(curation=file, home=tmp_path / "new")
    with pytest.raises(DecisionError) as raised:
        take(settings, [Decision(action="rename", names=("Bergen",), into="Bergen (Norway)")])
    assert str(raised.value) == (
        "names.yaml:1 and the new decision give one entity two names, 'Björgvin' and 'Bergen (Norway)'; "
        "remove one of them"
    )
    assert taken(Home.of(settings)) == []
    take(make(home=settings.home), [Decision(action="rename", names=("bergen",), into="Bergen (Norway)")])
    for act in (looked, build, make_plan):
        with pytest.raises(DecisionError, match=r"decision 1 and names\.yaml:1 give one entity two names"):
            act(settings)
    assert not Home.of(settings).published.exists()


def test_files_and_commands_count_alike_and_order_reasons_and_authors_shape_nothing(make: Make, tmp_path: Path) -> None:
    settings = make()
    take(settings, SEVERAL[:2])
    key = in_force(settings).version
    file = tmp_path / "names.yaml"
    file.write_text(
        "- retype: Bergen\n  type: city\n  author: mia\n  reason: it is one\n"
        "- apart: [Oslo, Bergen]\n- merge: [Marta Lindqvist, Priya Nair]\n  into: Marta Lindqvist\n"
    )
    other = make(home=tmp_path / "other", curation=file)
    assert in_force(other).version == key
    assert [one.place for one in decisions_of(other)] == ["names.yaml:1", "names.yaml:5", "names.yaml:6"]
    assert in_force(make(home=tmp_path / "none")).version == ""


def test_a_file_named_as_the_places_of_the_table_counts_as_a_file(make: Make, tmp_path: Path) -> None:
    file = tmp_path / "decision names.csv"
    file.write_text("action,name,type\nretype,Bergen,city\n")
    settings = make(curation=file)
    assert in_force(settings).last_taken == 0
    take(settings, SEVERAL[:1])
    assert in_force(settings).last_taken == 1


@pytest.mark.long
def test_a_name_that_no_document_has_is_said_until_it_is_mended(make: Make) -> None:
    settings = make()
    take(settings, [Decision(action="remove", names=("Marta Lindqvst",)), SEVERAL[1]])
    build(settings)
    (warning,) = pending(Situation.looking(settings)).warnings
    assert warning.startswith("1 name in decisions is in no document, as “Marta Lindqvst”; ")
    undo(settings, [1])
    build(settings)
    assert pending(Situation.looking(settings)).warnings == []


@pytest.mark.long
def test_mentions_of_types_that_are_not_allowed_are_counted(make: Make) -> None:
    settings = make(merging={"types": {"allowed": ["person", "place"], "map": {"location": "place"}}})
    build(settings)
    types = {row["type"] for row in entities(settings).values()}
    assert types <= {"person", "place", "other", "unknown"}
    curation = Generation(Home.of(settings), published(settings).snapshot_id).record().curation
    assert curation.mapped > 0
    assert curation.disallowed > 0
    assert any(
        "`merging.types.allowed` lacks their type" in one for one in pending(Situation.looking(settings)).warnings
    )


def test_there_must_be_a_decision_to_undo(make: Make) -> None:
    settings = make()
    with pytest.raises(DecisionError, match=r"no decision is in force in .*; `lightrag-dagster curate` shows"):
        undo(settings)
    take(settings, SEVERAL[:1])
    undo(settings, [1])
    with pytest.raises(DecisionError, match="decision 1 is not in force"):
        undo(settings, [1])
    assert take(settings, SEVERAL[:1]) == [2], "a number is given once"


@pytest.mark.long
@pytest.mark.parametrize("seed", range(15))
def test_undone_in_any_order_decisions_leave_the_bytes_of_the_start(
    make: Make, before: dict[str, Any], seed: int
) -> None:
    settings, chance = make(), random.Random(seed)
    first = published(settings).snapshot_id
    names = [row["name"] for row in entities(settings).values()]
    numbers = list[int]()
    for turn in range(12):
        one, other = chance.sample(names, 2)
        values: dict[str, dict[str, object]] = {
            "merge": {"names": (one, other)},
            "rename": {"names": (one,), "into": chance.choice((other, f"New {turn}"))},
            "retype": {"names": (one,), "type": f"kind {turn}"},
            "describe": {"names": (one, other)[: chance.randint(1, 2)], "text": f"Text {turn}."},
            "remove": {"names": (one, other)[: chance.randint(1, 2)]},
            "split": {"names": (one,), "into": f"Part {turn}", "paths": (chance.choice(("river.*", "*.md")),)},
            "add": {"names": (f"Added {turn}",), "text": f"Added {turn}."},
        }
        action = chance.choice(sorted(values))
        with suppress(DecisionError):
            numbers += take(settings, [Decision.model_validate({"action": action} | values[action])])
    build(settings)
    assert published(settings).snapshot_id != first
    chance.shuffle(numbers)
    for number in numbers:
        undo(settings, [number])
    build(settings)
    assert published(settings).snapshot_id == first
    assert snapshot_contents(settings) == before
