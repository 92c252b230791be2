import json
import re
import shutil
from pathlib import Path

import pytest
import yaml

from lightrag_dagster.cli.evaluate import _set_mode
from lightrag_dagster.evaluation.bootstrap import Interval
from lightrag_dagster.evaluation.summary import Advantage, Verdict
from lightrag_dagster.query.mode import MODES
from lightrag_dagster.settings import Chosen, Settings, choosing, load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.source_tables import ALL_SOURCES
from tests.cli.test_cli import command
from tests.loopback import Loopback
from tests.query.published import publish_sources
from tests.support import build, run, write_source

TOWERS = ("Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Gorse", "Hazel", "Ivy", "Juniper")
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
    assert found["missing_gold"] == [f"notes/{path}" for path in list(FACTS)[:5]]


@pytest.mark.long
def test_the_best_mode_is_said_with_its_setting(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, questions: Path
) -> None:
    Path("lightrag.yaml").write_text("query:\n  mode: global\n  top_k: 1\n  chunk_top_k: 1\n")
    publish_sources(load_settings(), {"notes": FACTS})
    output = " ".join(command(capfd, monkeypatch, "evaluate", "--questions", str(questions))[1].split())
    (better,) = re.findall(r"more than the default mode global find: (\w+) by .*; set `query.mode` to \1$", output)
    assert better in MODES


@pytest.mark.long
def test_a_better_mode_is_set_by_one_command(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, questions: Path
) -> None:
    file, said = Path("own.yaml"), "# ours\nquery:\n  # few\n  top_k: 1\n  chunk_top_k: 1\n  mode: global  # for now\n"
    file.write_text(said)
    file.chmod(0o600)
    monkeypatch.setenv("LIGHTRAG_CONFIG", "own.yaml")
    publish_sources(load_settings(), {"notes": FACTS})
    monkeypatch.setenv("LIGHTRAG_QUERY__MODE", "local")
    asked = ("evaluate", "--questions", str(questions), "--set-mode", "--json")
    there = json.loads(command(capfd, monkeypatch, *asked)[1])
    assert (there["set_mode"].startswith("query.mode stays local"), file.read_text()) == (True, said)
    monkeypatch.delenv("LIGHTRAG_QUERY__MODE")
    found = json.loads(command(capfd, monkeypatch, *asked)[1])
    mode = load_settings().query.mode
    assert mode != "global"
    assert found["set_mode"] == f"query.mode is {mode} now, by own.yaml; all else in that file is as it was"
    assert found["best_by_language"] == {}
    assert file.read_text() == said.replace("mode: global", f"mode: {mode}")
    assert file.stat().st_mode & 0o777 == 0o600
    again = " ".join(command(capfd, monkeypatch, *asked[:-1])[1].split())
    assert f"query.mode stays {mode}, since no mode finds more" in again


@pytest.mark.parametrize(
    ("variable", "value"), [("LIGHTRAG_QUERY__MODE", "global"), ("LIGHTRAG_QUERY", '{"mode": "global"}'), (None, "")]
)
@pytest.mark.parametrize("by_definitions", [False, True])
def test_a_mode_that_wins_over_the_file_stays(
    monkeypatch: pytest.MonkeyPatch, variable: str | None, value: str, by_definitions: bool
) -> None:
    file, said = Path("lightrag.yaml"), "query: {mode: global}\n"
    file.write_text(said)
    if variable:
        monkeypatch.setenv(variable, value)
    by = Chosen({"query": {"mode": "global"}} if by_definitions else {"query": {"top_k": 5}})
    judged = Verdict("global", "local", [Advantage("local", "global", "recall", Interval(0.2, 0.1, 0.3, 8))], [])
    with choosing(by):
        told = _set_mode(judged)
    wins = bool(variable or by_definitions)
    assert told.startswith("query.mode stays global" if wins else "query.mode is local now")
    assert ("LIGHTRAG_" in told, file.read_text() == said) == (wins, wins)


def test_a_few_questions_set_no_mode() -> None:
    assert _set_mode(Verdict("global", "local", [], [], too_few=True)) == (
        "query.mode stays global, since too few questions were asked"
    )


def test_a_mode_is_set_by_questions_of_people_alone(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, _, errors = command(capfd, monkeypatch, "evaluate", "--make-questions", "2", "--set-mode")
    assert (code, "goes by questions of people" in errors) == (2, True)


@pytest.mark.long
def test_no_source_is_needed(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, published_home: Path, tmp_path: Path
) -> None:
    home, file = shutil.copytree(published_home, tmp_path / "home"), tmp_path / "evaluation.jsonl"
    file.write_text(json.dumps({"question": "Who repaired the sensor?", "documents": ["office/flood.txt"]}))
    code, output, _ = command(capfd, monkeypatch, "--home", str(home), "evaluate", "--questions", str(file))
    assert code == 0
    assert "recall@5" in output


@pytest.mark.long
def test_a_run_evaluates_what_is_new_and_nothing_twice(settings: Settings, questions: Path) -> None:
    chosen = settings.changed(questions=questions)
    write_source(chosen, "notes", FACTS)
    current = Home(chosen.home).source_table("retrieval_evaluation", ALL_SOURCES) / "current.json"

    build(chosen)
    run(chosen)
    first = current.stat().st_mtime_ns
    run(chosen)
    assert current.stat().st_mtime_ns == first
    more = chosen.changed(query={"mode": "naive"})
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


LONG = {
    f"{name}.md": f"{name}ton, {name}ford, {name}ley, {name}wick, {name}by and {name}ham rang. {'Nobody knows. ' * 9}"
    for name in TOWERS
}


@pytest.mark.long
def test_sentences_of_the_documents_make_questions_without_a_model(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make = ("evaluate", "--make-questions", "11")
    settings = load_settings()
    publish_sources(settings, {"notes": {"short.md": "The bell was rung by nobody."}})
    code, _, error = command(capfd, monkeypatch, *make)
    assert (code, "no chunk has a sentence of six words" in error) == (2, True)

    publish_sources(settings, {"notes": LONG})
    code, output, _ = command(capfd, monkeypatch, *make, "--json")
    found = json.loads(output)
    assert (code, found["questions"], found["documents"], found["all_chunks"]) == (0, 10, 11, 11)
    assert {one["mode"] for one in found["modes"]} > {"bm25", "naive"}

    code, output, _ = command(capfd, monkeypatch, *make, "--price")
    assert (code, "no call to one, $0" in output) == (0, True)
    code, _, error = command(capfd, monkeypatch, *make, "--questions", "new.yaml")
    assert (code, "nothing to write to new.yaml" in error) == (2, True)
    code, _, error = command(capfd, monkeypatch, "evaluate", "--price")
    assert (code, "--make-questions" in error) == (2, True)


@pytest.mark.long
def test_a_model_drafts_questions_into_a_new_file(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, loopback: Loopback
) -> None:
    publish_sources(load_settings(), {"notes": {path: text * 2 for path, text in LONG.items()}})
    monkeypatch.setenv("LIGHTRAG_LLM__PROVIDER", "openai")
    monkeypatch.setenv("LIGHTRAG_LLM__MODEL", "gpt-4o-mini")
    loopback.chat = lambda body: '{"question": "Who repaired the clock?", "answer": "The keeper of bells"}'
    file, make = tmp_path / "new.yaml", ("evaluate", "--make-questions", "3")
    code, output, _ = command(capfd, monkeypatch, *make, "--price")
    assert (code, "Passages: 3; with a stored draft: 0." in output, loopback.requests) == (0, True, [])
    code, _, error = command(capfd, monkeypatch, *make)
    assert (code, "name a new file with --questions" in error) == (2, True)
    code, _, error = command(capfd, monkeypatch, *make, "--questions", str(file), "--max-cost", "0")
    assert (code, "the budget of $0 is used up" in error, loopback.requests) == (2, True, [])
    code, output, _ = command(capfd, monkeypatch, *make, "--questions", str(file))
    assert (code, len(loopback.requests)) == (0, 3)
    assert output.splitlines()[-1].startswith("It cost $0.0")
    assert "1 of 3 passages; 0 answer no question" in output
    [question] = yaml.safe_load(file.read_text())
    assert len(question["documents"]) == 3, "all three should be found"
    assert f"evaluate --questions {file}" in " ".join(output.split())
    code, _, error = command(capfd, monkeypatch, *make, "--questions", str(file))
    assert (code, "name another file" in error) == (2, True)

    code, output, _ = command(capfd, monkeypatch, *make, "--price", "--json")
    assert (code, json.loads(output)["questions"], json.loads(output)["passages"]) == (0, 0, 3)
    monkeypatch.setenv("LIGHTRAG_LLM__MODEL", "another")
    loopback.chat = lambda body: "I cannot say."
    code, output, _ = command(capfd, monkeypatch, *make, "--questions", str(tmp_path / "none.yaml"))
    assert (code, "none.yaml was not written" in " ".join(output.split())) == (1, True)
    assert not (tmp_path / "none.yaml").exists()


@pytest.mark.long
def test_an_evaluation_says_its_cost_and_keeps_to_a_budget(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, questions: Path, loopback: Loopback
) -> None:
    publish_sources(load_settings(), {"notes": FACTS})
    for name, value in (("PROVIDER", "openai"), ("MODEL", "gpt-4o"), ("MAX_RETRIES", "0")):
        monkeypatch.setenv(f"LIGHTRAG_LLM__{name}", value)
    loopback.chat = lambda body: '{"faithfulness": 5, "relevance": 5}'
    measure = ("evaluate", "--questions", str(questions))

    code, _, error = command(capfd, monkeypatch, *measure, "--max-cost", "0")
    assert (code, loopback.requests) == (2, [])
    assert "the budget of $0 is used up" in error
    code, _, error = command(capfd, monkeypatch, *measure, "--json", "--max-cost", "0.09")
    assert (code, "the budget of $0.09 is used up" in error) == (2, True)
    assert "It cost $0.0" in error, "what was spent until then"
    code, output, _ = command(capfd, monkeypatch, *measure)
    assert (code, re.fullmatch(r"It cost \$\d\.\d{4}\.", output.splitlines()[-1]) is None) == (0, False)
    code, output, _ = command(capfd, monkeypatch, *measure, "--json")
    assert (code, json.loads(output)["cost_usd"]) == (0, 0.0), "all answers are stored"
