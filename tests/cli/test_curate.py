"""The commands `curate`: what a person sees when they decide about names."""

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lightrag_dagster.cli.app import app
from lightrag_dagster.curation.rules.reading import taken
from lightrag_dagster.orchestration.runner import Outcome
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.home import Home
from tests.support import FLOOD, RIVER, build, write_source

Ask = Callable[..., str]


@pytest.fixture
def ask(notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Run a command in a home with one source, and return what it prints, in one line."""
    monkeypatch.setenv("LIGHTRAG_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LIGHTRAG_SOURCES", str(notes.parent))
    monkeypatch.setenv("COLUMNS", "200")
    (notes / "flood.md").write_text(FLOOD)

    def ask(*arguments: str, code: int = 0) -> str:
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == code, result.output
        return " ".join(result.output.split())

    return ask


def rebuild(**settings: Any) -> Outcome:
    """Do the work of the command `run` in a fraction of its time."""
    return build(load_settings(**settings))


@pytest.fixture(scope="module")
def _built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    settings = load_settings(home=folder / "home", sources=folder / "sources")
    write_source(settings, "notes", {"river.md": RIVER, "flood.md": FLOOD})
    build(settings)
    return settings.home


@pytest.fixture
def _published(_built: Path, tmp_path: Path) -> None:
    shutil.copytree(_built, tmp_path / "home")


def found(ask: Ask, sql: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(ask("sql", sql, "--format", "json"))
    return rows


@pytest.mark.long
@pytest.mark.usefixtures("_published")
def test_an_afternoon_of_decisions(ask: Ask) -> None:
    assert ask("curate") == "No decision is in force; `lightrag-dagster curate --help` lists the kinds."
    before = ask("sql", "select * from entities order by all")

    said = ask("curate", "merge", "Jonas Feld", "Priya Nair", "--into", "Jonas Feld", "--reason", "one person")
    assert said.startswith("Decision 1: “Jonas Feld” and “Priya Nair” are one, called “Jonas Feld”. It takes effect ")
    ask("curate", "rename", "Halden Weir", "The Weir", "--source", "notes")
    ask("curate", "retype", "station 14", "Station")
    ask("curate", "describe", "Jonas Feld", "He closes stations.")
    ask("curate", "remove", "Orrin Instruments")
    ask("curate", "add", "Ulla Berg", "--type", "person", "--text", "She keeps the archive.")
    said = ask("curate", "apart", "Marta Lindqvist", "M. Lindqvist")
    assert said.endswith(
        "the new decision: no document has the name “M. Lindqvist”; the nearest are “Marta Lindqvist”."
    )
    assert "7 decisions" in ask("curate", "check")
    assert "Published gen-" in ask("run")

    rows = {row["name"]: row for row in found(ask, "select name, type, description from entities")}
    assert rows.keys() >= {"Jonas Feld", "The Weir", "Station 14", "Ulla Berg", "Marta Lindqvist"}
    assert not rows.keys() & {"Priya Nair", "Halden Weir", "Orrin Instruments"}
    assert (rows["Station 14"]["type"], rows["Jonas Feld"]["description"]) == ("station", "He closes stations.")
    checked = ask("curate", "check")
    assert checked.startswith("7 decisions are in force and hold together. decision 7: no document has the name")
    assert "Orrin" not in checked, "the documents have what is removed"

    ask("curate", "retype", "THE WEIR", "place")
    [last, *_] = json.loads(ask("curate", "--json"))["decisions"][::-1]
    assert (last["place"], last["names"]) == ("decision 8", ["Halden Weir"]), "as documents have it"
    for number in range(8, 0, -1):
        assert ask("curate", "undo").startswith(f"Decision {number} is undone, that ")
    rebuild()
    assert ask("sql", "select * from entities order by all") == before
    ask("gc")
    assert len(taken(Home(Path(os.environ["LIGHTRAG_HOME"])))) == 8, "gc touches no decision, undone or not"
    assert "no decision is in force" in ask("curate", "undo", code=2)
    assert "decision 3 is not in force" in ask("curate", "undo", "3", code=2)


def test_an_empty_name_as_of_an_unset_variable_decides_nothing(ask: Ask) -> None:
    ask("curate", "retype", "Oslo", "city")

    assert "remove has an empty name" in ask("curate", "remove", "Oslo", "--with", "", code=2)
    assert "merge has an empty name" in ask("curate", "merge", "Oslo", "", "Bergen", code=2)
    assert "is neither a number nor several" in ask("curate", "undo", "", code=2)

    assert len(json.loads(ask("curate", "--json"))["decisions"]) == 1


@pytest.mark.parametrize(("given", "author"), [((), "user 70123"), (("--author", "Ada"), "Ada")])
def test_a_user_without_a_name_as_in_a_container_decides_too(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, given: tuple[str, ...], author: str
) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 70123)
    ask("curate", "retype", "Halden Weir", "place", *given)
    assert json.loads(ask("curate", "--json"))["decisions"][0]["author"] == author


def test_several_decisions_are_undone_at_once(ask: Ask) -> None:
    for name in ("Bergen", "Oslo", "Halden Weir", "Jonas Feld"):
        ask("curate", "remove", name)
    ask("curate", "undo", "3")
    said = ask("curate", "undo", "2-400000000")
    assert said.startswith(
        "Decision 2 is undone, that “Oslo” is removed. Decision 4 is undone, that “Jonas Feld” is rem"
    )
    assert "builds without them" in said
    assert "399,999,997 other numbers are of no decision in force." in said
    assert [one["names"] for one in json.loads(ask("curate", "--json"))["decisions"]] == [["Bergen"]]
    assert "none of the decisions 2 to 40 is in force" in ask("curate", "undo", "2-40", code=2)
    for number in ("x", "4-3", "3-", "2-4-5"):
        assert "is neither a number nor several" in ask("curate", "undo", number, code=2)


@pytest.mark.long
def test_lost_decisions_end_commands_until_their_loss_is_accepted(ask: Ask) -> None:
    ask("curate", "remove", "Bergen")
    rebuild()
    (Path(os.environ["LIGHTRAG_HOME"]) / "decisions.sqlite").unlink()
    lost = "has no decision, and the published snapshot was built with some"
    for command in (("run",), ("plan",), ("curate",), ("curate", "remove", "Oslo")):
        assert lost in ask(*command, code=2), command
    assert f"decisions.sqlite {lost}" in ask("status"), "a warning among the rest"
    assert "leave out the number" in ask("curate", "undo", "1", "--lost", code=2)
    said = "The decisions to number 1, which are lost, count as undone. The next `lightrag-dagster run` builds without"
    assert ask("curate", "undo", "--lost").startswith(said)
    assert rebuild().published is not None
    assert ask("curate", "remove", "Oslo").startswith("Decision 2: ")


@pytest.mark.long
def test_a_part_that_was_split_off_is_addressed_by_its_name(ask: Ask, notes: Path) -> None:
    (notes / "old").mkdir()
    (notes / "old" / "flood.md").write_text(FLOOD.replace("2021", "1987"))
    ask("curate", "split", "Halden Weir", "Halden Weir (1987)", "--path", "old/*")
    rebuild()
    shown = "select name, type from entities where name like 'Halden%' order by name"
    assert [row["name"] for row in found(ask, shown)] == ["Halden Weir", "Halden Weir (1987)"]
    said = ask("curate", "retype", "Halden Weir (1987)", "ruin")
    assert said.startswith("Decision 2: “Halden Weir (1987)” is of type ruin.")
    assert "joins what decision 1 splits" in ask("curate", "merge", "Halden Weir", "Halden Weir (1987)", code=2)
    rebuild()
    assert [row["type"] for row in found(ask, shown)] == ["location", "ruin"]
    ask("curate", "rename", "Halden Weir (1987)", "The old weir")
    rebuild()
    ask("curate", "undo", "2")
    assert ask("curate", "remove", "The old weir").startswith("Decision 4: “The old weir” is removed.")
    rebuild()
    assert [row["name"] for row in found(ask, shown)] == ["Halden Weir"]
    assert rebuild().published is None
    assert "hold together." in ask("curate", "check")


@pytest.mark.long
def test_names_are_given_one_after_the_other_also_between_runs(ask: Ask) -> None:
    ask("curate", "rename", "Halden Weir", "Weir B")
    rebuild()
    ask("curate", "rename", "Weir B", "Weir C")
    rebuild()
    assert [row["name"] for row in found(ask, "select name from entities where name like '%Weir%'")] == ["Weir C"]
    ask("curate", "merge", "Halden Weir", "Weir C", "--into", "Weir C")
    problem = ask("curate", "undo", "2", code=2)
    assert "decision 2 cannot be undone before others: without it, decision 1 and decision 3 give one enti" in problem
    ask("curate", "undo")
    assert ask("curate", "undo").startswith("Decision 2 is undone, that “Weir B” is called “Weir C”. The next ")
    alone = "It splits “Halden Weir” alone; other names of “Weir C” need a split each."
    assert ask("curate", "split", "Weir C", "Weir D", "--path", "old/*").endswith(alone)


@pytest.mark.long
def test_what_fits_nothing_in_documents_is_said(ask: Ask) -> None:
    ask("curate", "split", "Halden Weir", "Another weir", "--source", "nosuch")
    ask("curate", "describe", "Halden Weir", "They never met.", "--with", "Bergen")
    ask("curate", "remove", "Priya Nair", "--with", "Bergen")
    ask("curate", "remove", "Jonas Feld", "--with", "Station 14")
    assert (
        "3 splits or relations in decisions fit nothing in documents, as “Another weir”, “Halden Weir” — “Bergen”, "
        "“Priya Nair” — “Bergen”; `lightrag-dagster curate` shows the decisions"
    ) in rebuild().states.warnings
    for _ in range(3):
        ask("curate", "undo")
    ask("curate", "undo")
    ask("curate", "split", "Halden Weir", "Another weir", "--source", "notes")
    assert not [line for line in rebuild().states.warnings if "fits nothing" in line]


@pytest.mark.long
def test_additions_have_places_and_chunks_of_their_own(ask: Ask, notes: Path) -> None:
    (notes / "tiny.md").write_text("Marlow Quince of Steinfeld")
    rebuild()
    before = found(ask, "select name, type from entities order by all")
    ask("curate", "add", "Marlow Quince of Steinfeld", "--type", "project")
    ask("curate", "add", "Alpha — Beta")
    ask("curate", "add", "Alpha", "--with", "Beta")
    rebuild()
    after = found(ask, "select name, type from entities order by all")
    added = [row for row in after if row not in before]
    assert [row for row in before if row not in after] == []
    assert {row["name"] for row in added} == {"Marlow Quince of Steinfeld", "Alpha - Beta", "Alpha", "Beta"}
    assert "undo it by `lightrag-dagster curate undo`" in ask("purge", "curation", "--yes", code=2)


@pytest.mark.long
def test_additions_that_were_taken_back_leave_no_text(ask: Ask, notes: Path) -> None:
    (notes / "gone.md").write_text("Ulla Berg met Jonas Feld.")
    ask("curate", "add", "Zebra", "--text", "ZEBRATEXT")
    rebuild()
    ask("curate", "undo")
    (notes / "gone.md").unlink()
    assert rebuild(documents={"accept_deletes": True}).states.warnings == []
    ask("purge", "notes/gone.md", "--yes")
    home = Path(os.environ["LIGHTRAG_HOME"])
    assert not list(home.glob("tables/*/curation/*.parquet"))


def test_decisions_that_cannot_both_hold_end_with_exit_code_2_before_anything_is_done(
    ask: Ask, tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask("curate", "rename", "Halden Weir", "The Weir")
    again = ask("curate", "rename", "Halden Weir", "Another Weir", code=2)
    assert re.search(
        r"decision 1 and the new decision .*give one entity two names, 'The Weir' and 'Another Weir'", again
    )
    assert len(json.loads(ask("curate", "--json"))["decisions"]) == 1

    same = ask("curate", "rename", "Halden Weir", "The Weir", "--reason", "as before", code=2)
    assert "decision 1 and the new decision are the same decision" in same
    (tmp_path / "names.yaml").write_text("- rename: Bergen\n  into: Oslo\n\n- rename: Halden Weir\n  into: Halden\n")
    monkeypatch.setenv("LIGHTRAG_CURATION", str(tmp_path / "names.yaml"))
    for command in (("run",), ("plan",), ("curate", "check"), ("curate", "remove", "Bergen")):
        assert "decision 1 and names.yaml:4 give one entity two names" in ask(*command, code=2), command
    assert not (tmp_path / "home" / "tables").exists(), "nothing was read"
    (tmp_path / "names.yaml").write_text("- rename: Bergen\n  into: Oslo\n  colour: red\n")
    assert "names.yaml:1: rename has no 'colour'" in ask("run", code=2)


@pytest.mark.parametrize(
    ("arguments", "because"),
    [
        (("merge", "One"), "merge takes two names at least"),
        (("merge", "One", "One"), "'One' and 'One' are spellings of one name; write it once"),
        (("merge", "One", "Two", "ONE"), "'One' and 'ONE' are spellings of one name; write it once"),
        (("rename", "One", "x" * 5000), "has 5,000 characters; the most are 256"),
        (("split", "One", "Two"), "split needs 'sources', 'paths' or 'types'"),
        (("rename", "One", " "), "rename has an empty name"),
        (("add", "One", "--keywords", "a"), "add does not take 'keywords' of an entity"),
        (("remove", ""), "remove has an empty name"),
        (("remove", "One", "--author", "\udcff"), "holds a character that no text has"),
        (("remove", "One", "--with", "one"), "'One' and 'one' are one entity"),
    ],
)
def test_a_decision_that_is_none_is_refused(ask: Ask, arguments: tuple[str, ...], because: str) -> None:
    assert because in ask("curate", *arguments, code=2)
