"""The command `curate review`: out to a spreadsheet, and back as decisions."""

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from lightrag_dagster.settings import load_settings
from tests.cli.test_curate import Ask, ask, rebuild
from tests.loopback import Loopback, Reply
from tests.support import FLOOD, RIVER, build, write_source

__all__ = ["ask"]

FIRST = "Marta Lindqvist maintains the gauge at Halden Weir. Marta Lindqvist lives in Bergen."
SECOND = "Marta Lindqvst maintains the gauge at Halden Weir. Marta Lindqvst joined Orrin Instruments in Bergen."
THIRD = "The Heron Logger measures the level at Station 14. Orrin Instruments built the Heron Logger."
FOURTH = "Heron Loggers stand in Oslo. Jonas Feld repaired the Heron Loggers in March."


@pytest.fixture(scope="module")
def _built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    settings = load_settings(home=folder / "home", sources=folder / "sources")
    numbered = {f"{number}.md": text for number, text in enumerate((FIRST, SECOND, THIRD, FOURTH))}
    write_source(settings, "notes", {"river.md": RIVER, "flood.md": FLOOD, **numbered})
    build(settings)
    return folder


@pytest.fixture
def twice(ask: Ask, _built: Path, tmp_path: Path) -> Ask:
    """A knowledge base that has one person in two spellings, and a thing that is named in the plural, too."""
    shutil.copytree(_built, tmp_path, dirs_exist_ok=True)
    return ask


def rows_of(file: Path) -> list[dict[str, Any]]:
    with file.open(encoding="utf-8-sig", newline="") as opened:
        return list(csv.DictReader(opened))


def decide(file: Path, **actions: str) -> None:
    """Write actions into the rows that have a name, as a person does in a spreadsheet."""
    rows = rows_of(file)
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, rows[0], delimiter=";")
        writer.writeheader()
        for row in rows:
            found = [action for name, action in actions.items() if name in f"{row['name']} {row['with']}"]
            writer.writerow(row | {"action": found[0] if found else ""})


@pytest.mark.long
def test_a_review_goes_out_and_comes_back(twice: Ask, tmp_path: Path) -> None:
    file = tmp_path / "names.csv"
    said = twice("curate", "review", str(file))
    rows = rows_of(file)
    assert said.startswith(f"Pairs of names in {file}: {len(rows)}. ")
    assert {"Marta Lindqvist", "Marta Lindqvst"} in [{row["name"], row["with"]} for row in rows]
    assert "is there already, perhaps with decisions" in twice("curate", "review", str(file), code=2)
    assert f"{file} has no new decisions; taken before: 0." in twice("curate", "review", str(file), "--take")

    decide(file, Lindqvst="Merge")
    said = twice("curate", "review", str(file), "--take", "--author", "Ida")
    assert said.startswith(f"Decision 1 is taken from {file}. It takes effect with the next ")
    (decision,) = json.loads(twice("curate", "--json"))["decisions"]
    assert (decision["action"], decision["author"]) == ("merge", "Ida")
    assert {*decision["names"]} == {"Marta Lindqvist", "Marta Lindqvst"}
    assert f"{file} has no new decisions; taken before: 1." in twice("curate", "review", str(file), "--take")
    rebuild()
    named = json.loads(twice("sql", "SELECT name FROM entities WHERE name LIKE 'Marta%'", "--format", "json"))
    assert named == [{"name": "Marta Lindqvist"}]
    again = tmp_path / "again.csv"
    twice("curate", "review", str(again))
    assert not [row for row in rows_of(again) if "Marta" in row["name"] and "Marta" in row["with"]]


def test_names_of_a_file_that_no_document_has_are_told(twice: Ask, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(
        "action,name,with,into\nmerge,Bergen,Marta Lindqist,Berg\nadd,Ulla,,\nremove,Bergen,Marta Lindqvist,\n"
    )
    said = twice("curate", "review", str(tmp_path / "a.csv"), "--take")
    assert "a.csv:2: no document has the name “Marta Lindqist”; the nearest are “Marta Lindqvist”, " in said
    assert said.count("no document") == 1
    assert "a.csv:4: the relation of “Bergen” and “Marta Lindqvist” is removed." in said
    assert "a.csv:2: “" not in said
    (tmp_path / "b.yaml").write_text("- describe: Bergen\n  text: A town.\n  scopes: [partnres]\n")
    said = twice("curate", "review", str(tmp_path / "b.yaml"), "--take")
    assert "b.yaml:1 names the scope “partnres”, and `scopes` of the settings has none of that name." in said
    assert "decision 4 names the scope “partnres”, " in twice("curate", "check")


def test_pairs_that_are_kept_apart_are_not_shown_again(twice: Ask, tmp_path: Path) -> None:
    twice("curate", "review", str(tmp_path / "names.csv"))
    decide(tmp_path / "names.csv", Lindqvst="apart")
    twice("curate", "review", str(tmp_path / "names.csv"), "--take")
    twice("curate", "review", str(tmp_path / "again.csv"))
    shown = [{row["name"], row["with"]} for row in rows_of(tmp_path / "again.csv")]
    assert {"Marta Lindqvist", "Marta Lindqvst"} not in shown


@pytest.mark.long
def test_a_model_may_be_asked_for_a_price_that_is_known_before(
    twice: Ask, tmp_path: Path, loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "llm.provider is offline" in twice("curate", "review", "--price", code=2)
    monkeypatch.setenv("LIGHTRAG_LLM__PROVIDER", "openai")
    monkeypatch.setenv("LIGHTRAG_LLM__MODEL", "gpt-4o-mini")
    loopback.chat = lambda body: '{"same": true, "reason": "One maintains the gauge."}'
    said = twice("curate", "review", "--price")
    assert said.startswith("Unclear pairs: 1; with a stored opinion: 0. To ask about the others takes ")
    assert not loopback.requests

    file = tmp_path / "names.csv"
    said = twice("curate", "review", str(file), "--ask", "1")
    assert "The model says of pairs of names: one 1, two 0, cannot tell 0." in said
    (asked,) = [row for row in rows_of(file) if row["model says"]]
    assert (asked["model says"], asked["because"]) == ("one", "One maintains the gauge.")
    assert "Unclear pairs: 1; with a stored opinion: 1." in twice("curate", "review", "--price")

    said = twice("curate", "review", str(tmp_path / "again.csv"), "--ask", "1")
    assert len(loopback.requests) == 1, "the opinion is stored"

    cache = tmp_path / "home" / "responses.sqlite"
    cache.unlink()
    loopback.chat = lambda body: "no"
    said = twice("curate", "review", str(tmp_path / "more.csv"), "--ask", "9", code=1)
    assert "It failed about 1, first by this: the model's answer cannot be used" in said
    assert [row["model says"] for row in rows_of(tmp_path / "more.csv") if row["because"]] == ["failed"]
    assert "Unclear pairs: 1; with a stored opinion: 0." in twice("curate", "review", "--price")
    loopback.chat = lambda body: '{"same": null, "reason": "Both are rare."}'
    said = twice("curate", "review", str(tmp_path / "once more.csv"), "--ask", "9")
    assert "one 0, two 0, cannot tell 1." in said
    assert len(loopback.requests) == 3


@pytest.mark.long
def test_the_next_pairs_are_asked_about_not_the_same_again(
    twice: Ask, tmp_path: Path, loopback: Loopback, monkeypatch: pytest.MonkeyPatch, notes: Path
) -> None:
    for number, text in enumerate((THIRD, FOURTH)):
        (notes / f"more {number}.md").write_text(text.replace("Heron Logger", "Larkspur Beacon"))
    rebuild()
    monkeypatch.setenv("LIGHTRAG_LLM__PROVIDER", "openai")
    monkeypatch.setenv("LIGHTRAG_LLM__MODEL", "gpt-4o-mini")
    loopback.chat = lambda body: '{"same": false, "reason": "a"}'
    said = twice("curate", "review", "--price", "--ask", "1")
    assert said.startswith("Unclear pairs: 2; with a stored opinion: 0. To ask about 1 of the others takes ")
    for number, stored in enumerate((1, 2, 2)):
        said = twice("curate", "review", str(tmp_path / f"{number}.csv"), "--ask", "1")
        assert f"one 0, two {stored}, cannot tell 0." in said
        assert len(loopback.requests) == stored


@pytest.mark.long
def test_a_model_that_cannot_be_used_leaves_the_file(
    twice: Ask, tmp_path: Path, loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIGHTRAG_LLM__PROVIDER", "openai")
    monkeypatch.setenv("LIGHTRAG_LLM__MODEL", "gpt-4o-mini")
    monkeypatch.setenv("LIGHTRAG_LLM__MAX_RETRIES", "1")
    loopback.script.append(Reply.error(401))
    said = twice("curate", "review", str(tmp_path / "names.csv"), "--ask", "9", "--accept", code=2)
    assert "error: " in said
    assert "Pairs joined" not in said
    pairs = [{row["name"], row["with"]} for row in rows_of(tmp_path / "names.csv")]
    assert {"Marta Lindqvist", "Marta Lindqvst"} in pairs

    loopback.script += [Reply.error(500)] * 2
    said = twice("curate", "review", str(tmp_path / "again.csv"), "--ask", "9", code=1)
    assert "attempt 2 of 2" in said
    assert "It failed about 1, first by this: " in said
    assert len(rows_of(tmp_path / "again.csv")) == len(pairs)


@pytest.mark.long
def test_opinions_that_were_paid_for_are_accepted_later(
    twice: Ask, tmp_path: Path, loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIGHTRAG_LLM__PROVIDER", "openai")
    monkeypatch.setenv("LIGHTRAG_LLM__MODEL", "gpt-4o-mini")
    loopback.chat = lambda body: '{"same": true, "reason": "One maintains the gauge."}'
    twice("curate", "review", str(tmp_path / "names.csv"), "--ask", "9")
    assert "Pairs joined by decisions: 2." in twice("curate", "review", "--accept")
    assert len(loopback.requests) == 1


def test_accepted_pairs_become_decisions(twice: Ask, tmp_path: Path) -> None:
    assert twice("curate", "review", "--accept").startswith("Pairs joined by decisions: 1.")
    (decision,) = json.loads(twice("curate", "--json"))["decisions"]
    assert {*decision["names"]} == {"Marta Lindqvist", "Marta Lindqvst"}
    assert decision["reason"].startswith("score ")
    assert twice("curate", "review", "--accept").startswith("Pairs joined by decisions: 0.")
    file = tmp_path / "names.csv"
    twice("curate", "review", str(file))
    assert [{row["name"], row["with"]} for row in rows_of(file)] == [{"Heron Logger", "Heron Loggers"}]


@pytest.mark.parametrize(
    ("arguments", "because"),
    [
        ((), "give a file, such as names.csv"),
        (("--take",), "give a file, such as names.csv"),
        (("names.csv", "--take", "--accept"), "leave out --ask and --accept"),
        (("missing.csv", "--take"), "there is no file missing.csv"),
    ],
)
def test_what_makes_no_sense_is_refused(ask: Ask, arguments: tuple[str, ...], because: str) -> None:
    assert because in ask("curate", "review", *arguments, code=2)


@pytest.mark.parametrize(
    ("name", "because"),
    [
        ("nodir/names.csv", "names.csv cannot be written; name a file in a folder that is there"),
        ("/proc/names.csv", "names.csv cannot be written"),
        ("names.xlsx", "would be a CSV file; name it .csv"),
        ("names", "would be a CSV file; name it .csv"),
        ("folder.csv", "is there already, perhaps with decisions"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused(twice: Ask, tmp_path: Path, name: str, because: str) -> None:
    (tmp_path / "folder.csv").mkdir()
    assert because in twice("curate", "review", str(tmp_path / name), code=2)
    assert "is a folder; name a file" in twice("curate", "review", str(tmp_path / "folder.csv"), "--take", code=2)


def test_before_the_first_snapshot_there_is_nothing_to_review(ask: Ask, tmp_path: Path) -> None:
    assert "nothing has been published" in ask("curate", "review", str(tmp_path / "names.csv"), code=2)
    assert not (tmp_path / "names.csv").exists()
