"""The command line as a person meets it: what it prints, where, and its exit codes."""

import json
import os
from pathlib import Path

import pytest

from lightrag_dagster.cli import main
from lightrag_dagster.settings import Settings
from lightrag_dagster.settings.sections import QuerySettings
from tests.loopback import Loopback
from tests.support import FLOOD


def command(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str
) -> tuple[int, str, str]:
    """Run the command line in this process and return exit code, standard output and standard error."""
    monkeypatch.setattr("sys.argv", ["lightrag-dagster", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    output, errors = capfd.readouterr()
    return int(ended.value.code or 0), output, errors


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run"], "sources"),
        (["query", "What happened?"], "run"),
        (["sql", "select 1"], "lightrag-dagster run"),
        (["--home", "", "run"], "setting home: it has no value"),
        (["--sources", "", "run"], "setting sources: it has no value"),
    ],
)
def test_an_empty_folder_gives_one_line_and_exit_code_2(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str
) -> None:
    code, _, errors = command(capfd, monkeypatch, *arguments)
    assert code == 2
    assert says in errors
    assert errors.startswith("error: ")
    assert len(errors.strip().splitlines()) == 1


def test_an_error_names_the_command_for_the_same_home(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, _, errors = command(capfd, monkeypatch, "--home", "other", "sql", "select 1")
    assert "run `lightrag-dagster --home other run` first" in errors


def test_help_says_the_defaults_of_the_settings(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")

    def described(*arguments: str) -> dict[str, str]:
        _, output, _ = command(capfd, monkeypatch, *arguments, "--help")
        lines = (line.strip("│ ").split(maxsplit=2) for line in output.splitlines() if "--" in line)
        return {words[0]: words[2] for words in lines if len(words) == 3}

    defaults = Settings.model_construct()
    options = described()
    assert options["--home"].endswith(f"else `{defaults.home}`.")
    assert options["--sources"].endswith(f"else `{defaults.sources}`.")
    options, query = described("query"), QuerySettings()
    for option, default in (("mode", query.mode), ("top-k", query.top_k), ("chunk-top-k", query.chunk_top_k)):
        assert options[f"--{option}"].endswith(f"by default {default}."), option
    _, output, _ = command(capfd, monkeypatch, "purge", "--help")
    assert "[SOURCE[/PATH]]... " in output


@pytest.mark.parametrize("name", ["run", "backfill"])
def test_less_than_nothing_cannot_be_spent(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    code, _, errors = command(capfd, monkeypatch, name, "--max-cost", "-1")
    assert code == 2
    assert "--max-cost" in errors


def test_bad_yaml_gives_one_line_and_exit_code_2(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "lightrag.yaml").write_text("home: [unclosed")
    code, _, errors = command(capfd, monkeypatch, "status")
    assert code == 2
    assert "lightrag.yaml is not valid YAML" in errors
    assert len(errors.strip().splitlines()) == 1


def test_a_knowledge_base_from_the_command_line(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, notes: Path
) -> None:
    (notes / "flood.txt").write_text(FLOOD)

    code, output, errors = command(capfd, monkeypatch, "run")
    assert (code, errors) == (0, "")
    assert "Published gen-" in output

    code, output, _ = command(capfd, monkeypatch, "run")
    assert code == 0
    assert "Nothing changed" in output

    code, output, _ = command(capfd, monkeypatch, "query", "Who maintains the gauge at Halden Weir?", "--json")
    assert code == 0
    answer = json.loads(output)
    assert "Marta Lindqvist" in answer["text"]
    assert {reference["path"] for reference in answer["references"]} == {"river.md", "flood.txt"}

    code, output, _ = command(capfd, monkeypatch, "query", "Halden Weir", "--only-context", "--mode", "naive")
    assert code == 0
    assert "notes/river.md" in output

    code, output, _ = command(capfd, monkeypatch, "sql", "select count(*) as n from raw_documents", "--format", "json")
    assert (code, json.loads(output)) == (0, [{"n": 2}])

    code, output, _ = command(capfd, monkeypatch, "sql", "select path from chunks order by path", "--format", "csv")
    assert output.split() == ["path", "flood.txt", "river.md"]

    code, output, _ = command(capfd, monkeypatch, "status")
    assert "published" in output

    for arguments, says in (
        (["query", "Who?", "--mode", "unknown"], "there is no mode"),
        (["query", "   "], "empty"),
        (["sql", "select nothing from nowhere"], "SQL"),
        (["run", "--source", "absent"], "no such source: absent; there are notes"),
    ):
        code, _, errors = command(capfd, monkeypatch, *arguments)
        assert code == 2
        assert says in errors
        assert len(errors.strip().splitlines()) == 1


@pytest.mark.long
@pytest.mark.parametrize("engine", ["local", "processes"])
def test_its_options_reach_workers_and_dagsters_jobs_and_are_forgotten(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, notes: Path, engine: str
) -> None:
    notes.parent.rename("elsewhere")
    options = ("--home", "my home", "--sources", "elsewhere")
    monkeypatch.setenv("LIGHTRAG_HOME", "wrong")
    monkeypatch.setenv("LIGHTRAG_SOURCES", "wrong")
    monkeypatch.setenv("LIGHTRAG_ENGINE", engine)
    monkeypatch.setenv("LIGHTRAG_QUESTIONS", "questions.yaml")
    Path("questions.yaml").write_text("- question: Who maintains the gauge?\n  documents: [notes/river.md]\n")
    environment = dict(os.environ)

    code, output, errors = command(capfd, monkeypatch, *options, "run")
    assert (code, errors) == (0, "")
    assert "Published gen-" in output
    for name, says in (("evaluate", "recall@5"), ("status", "1 documents listed"), ("communities", "communities;")):
        code, output, _ = command(capfd, monkeypatch, *options, name)
        assert (code, says in output) == (0, True), output
    assert sorted(one.name for one in Path().iterdir()) == ["elsewhere", "my home", "questions.yaml"]

    assert dict(os.environ) == environment
    code, _, errors = command(capfd, monkeypatch, "query", "Who?")
    assert (code, "wrong" in errors) == (2, True)


@pytest.mark.usefixtures("notes")
def test_an_unreachable_endpoint_gives_one_line_and_exit_code_2(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIGHTRAG_LLM__PROVIDER", "openai")
    monkeypatch.setenv("LIGHTRAG_LLM__MODEL", "gpt-4o-mini")
    monkeypatch.setenv("LIGHTRAG_LLM__MAX_RETRIES", "0")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-not-a-key")

    code, _, errors = command(capfd, monkeypatch, "run")

    assert code == 2
    assert "127.0.0.1" in errors
    assert "sk-test-not-a-key" not in errors
    assert errors.startswith("error: ")


@pytest.mark.long
@pytest.mark.usefixtures("notes")
def test_embeddings_of_another_size_give_one_line_and_exit_code_2(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, loopback: Loopback
) -> None:
    loopback.dimensions = 8
    monkeypatch.setenv("LIGHTRAG_EMBEDDING__PROVIDER", "openai")
    monkeypatch.setenv("LIGHTRAG_EMBEDDING__MODEL", "small")
    monkeypatch.setenv("LIGHTRAG_EMBEDDING__DIMENSIONS", "16")

    code, _, errors = command(capfd, monkeypatch, "run")

    assert code == 2
    assert errors.count("\n") == 1
    assert "LIGHTRAG_EMBEDDING__DIMENSIONS=8" in errors
