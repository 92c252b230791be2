import json
import shutil
from pathlib import Path

import pytest

from lightrag_dagster.settings import EvaluationSettings, Settings, load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.source_tables import ALL_SOURCES
from tests.cli.test_cli import command
from tests.query.published import publish_sources
from tests.support import build, run, write_source

TOWERS = ("Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Gorse", "Hazel")
FACTS = {f"{number}.md": f"The clock in tower {name} was repaired by nobody." for number, name in enumerate(TOWERS)}


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """A question file, beside the default home and sources of the working folder."""
    lines = [
        {"question": f"Who repaired the clock in tower {name}?", "documents": [f"notes/{number}.md"]}
        for number, name in enumerate(TOWERS)
    ]
    file = tmp_path / "evaluation.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines))
    return file


@pytest.mark.long
def test_modes_are_measured_and_a_drop_is_exit_code_1(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, questions: Path
) -> None:
    settings = load_settings(documents={"accept_deletes": True})
    publish_sources(settings, {"notes": FACTS})
    code, output, _ = command(capfd, monkeypatch, "evaluate", "--questions", str(questions))
    assert code == 0
    assert {"bm25", "naive", "mix", "ppr", "recall@5"} <= set(output.split())

    for path in list(FACTS)[:5]:
        (settings.sources / "notes" / path).unlink()
    settings = load_settings(documents={"accept_deletes": True})
    publish_sources(settings, {"notes": {"other.md": "The bell was rung by nobody."}})
    code, output, _ = command(capfd, monkeypatch, "evaluate", "--questions", str(questions), "--json")
    assert code == 1
    found = json.loads(output)
    assert ("bm25", "recall") in {(one["mode"], one["metric"]) for one in found["dropped"]}
    assert {one["snapshot_id"] for one in found["modes"]} == {found["snapshot_id"]}


def test_no_source_is_needed(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, published_home: Path, tmp_path: Path
) -> None:
    home, file = shutil.copytree(published_home, tmp_path / "home"), tmp_path / "evaluation.jsonl"
    file.write_text(json.dumps({"question": "Who repaired the sensor?", "documents": ["office/flood.txt"]}))
    monkeypatch.setenv("LIGHTRAG_EVALUATION__MODES", '["bm25"]')
    code, output, _ = command(capfd, monkeypatch, "--home", str(home), "evaluate", "--questions", str(file))
    assert code == 0
    assert "recall@5" in output


@pytest.mark.long
def test_a_run_evaluates_what_is_new_and_nothing_twice(settings: Settings, questions: Path) -> None:
    evaluation = EvaluationSettings(modes=("naive",))
    chosen = settings.changed(questions=questions, evaluation=evaluation)
    write_source(chosen, "notes", FACTS)
    current = Home(chosen.home).source_table("retrieval_evaluation", ALL_SOURCES) / "current.json"

    build(chosen)
    run(chosen)
    first = current.stat().st_mtime_ns
    run(chosen)
    assert current.stat().st_mtime_ns == first
    more = chosen.changed(evaluation={"modes": ("naive", "bm25")})
    run(more)
    assert current.stat().st_mtime_ns > first


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "no questions"),
        (["--questions", "absent.yaml"], "absent.yaml"),
        (["--questions", "evaluation.jsonl"], "run"),
    ],
)
def test_what_is_missing_is_one_line_and_exit_code_2(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, questions: Path, arguments: list[str], says: str
) -> None:
    code, _, errors = command(capfd, monkeypatch, "evaluate", *arguments)
    assert code == 2
    assert says in errors
    assert len(errors.strip().splitlines()) == 1
