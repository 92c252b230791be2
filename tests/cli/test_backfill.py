"""`backfill` as a person meets it."""

from pathlib import Path

import pytest

from lightrag_dagster.settings import load_settings
from tests.cli.test_cli import command
from tests.loopback import Loopback, Reply
from tests.models.models import offline_answer, role_of
from tests.support import FLOOD, OFFICE, build


@pytest.mark.long
def test_a_source_that_cannot_be_ingested_is_no_success(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, notes: Path
) -> None:
    (notes / "flood.txt").write_text(FLOOD)
    build(load_settings())
    monkeypatch.setenv("LIGHTRAG_EXTRACTION__METHOD", "mentions")
    monkeypatch.setenv("LIGHTRAG_EXTRACTION__NAMES_MODEL", "nowhere.csv")
    code, output, _ = command(capfd, monkeypatch, "backfill", "--all")
    assert code == 1
    assert "notes cannot be ingested: setting extraction.names_model: there is no table nowhere.csv" in output
    assert "Everything was made" not in output


@pytest.mark.long
def test_a_backfill_from_edit_to_published(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, notes: Path
) -> None:
    (notes / "flood.txt").write_text(FLOOD)
    build(load_settings())
    code, output, _ = command(capfd, monkeypatch, "backfill", "--all")
    assert (code, output) == (0, "Everything was made with the current prompts, models and settings.\n")

    monkeypatch.setenv("LIGHTRAG_EXTRACTION__ANSWER_FORMAT", "json_object")

    code, output, _ = command(capfd, monkeypatch, "run")
    assert code == 0
    assert "kept: 2 rows of notes (extractions); `lightrag-dagster backfill` shows" in output
    code, output, _ = command(capfd, monkeypatch, "plan")
    assert "\n2 rows of notes are outdated and stay; `plan --backfill` shows their price." in output
    code, output, _ = command(capfd, monkeypatch, "status")
    assert code == 0
    assert "2 extractions" in " ".join(output.split())
    assert "Outdated rows were made with other prompts" in output
    code, output, _ = command(capfd, monkeypatch, "backfill")
    assert code == 0
    assert "Nothing was started. These are outdated: notes" in output
    code, _, errors = command(capfd, monkeypatch, "backfill", "--source", "absent")
    assert code == 2
    assert "no such source: absent; there are notes" in errors

    code, output, _ = command(capfd, monkeypatch, "backfill", "--all")

    assert code == 0
    assert "Outdated" not in output
    assert output.index("input tokens") < output.index("notes extractions") < output.index("Published gen-")
    code, output, _ = command(capfd, monkeypatch, "status")
    assert "outdated was made" not in output


@pytest.mark.long
@pytest.mark.usefixtures("notes")
def test_a_backfill_of_the_knowledge_base(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    build(load_settings())
    monkeypatch.setenv("LIGHTRAG_EMBEDDING__DIMENSIONS", "512")
    for words, expected in (
        (["run"], "kept: vectors; `lightrag-dagster backfill` shows"),
        (["status"], "Outdated in the knowledge base: vectors."),
        (["plan"], "Vectors are outdated and stay; `plan --backfill` shows their price."),
        (["plan", "--backfill"], "embeddings │ 3 │"),
        (["plan", "--backfill", "--json"], '"calls": { "expected": 3'),
        (["backfill"], "These are outdated: vectors; add --all, --source or --knowledge-base."),
        (["backfill", "--source", "notes"], "Nothing changed; gen-"),
        (["backfill", "--knowledge-base"], "Published gen-"),
        (["backfill"], "Everything was made with the current prompts, models and settings."),
    ):
        code, output, _ = command(capfd, monkeypatch, *words)
        assert (code, expected in " ".join(output.split())) == (0, True), output


@pytest.mark.long
@pytest.mark.usefixtures("notes")
def test_a_backfill_that_the_budget_stopped_says_so(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, loopback: Loopback
) -> None:
    """It was told as one that was interrupted."""
    loopback.chat = offline_answer
    for name, value in (("LLM__PROVIDER", "openai"), ("LLM__MODEL", "gpt-6-luna"), ("EXTRACTION__GLEANING", "0")):
        monkeypatch.setenv(f"LIGHTRAG_{name}", value)
    build(load_settings(), graph=True)
    monkeypatch.setenv("LIGHTRAG_EXTRACTION__ANSWER_FORMAT", "json_object")
    code, _, errors = command(capfd, monkeypatch, "backfill", "--all", "--max-cost", "0.000001")
    assert (code, "error: the budget of $1e-06 is below one call" in errors) == (2, True)
    _, output, _ = command(capfd, monkeypatch, "status")
    (line,) = [line for line in output.splitlines() if line.startswith("A backfill of notes is not finished: ")]
    assert line.startswith("A backfill of notes is not finished: the budget of $1e-06 is below one call")
    assert line.endswith("`lightrag-dagster backfill --source notes` resumes it.")
    assert command(capfd, monkeypatch, "backfill", "--all")[0] == 0
    assert "not finished" not in command(capfd, monkeypatch, "status")[1]


def test_all_is_not_said_beside_a_source(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    code, _, errors = command(capfd, monkeypatch, "backfill", "--all", "--source", "notes")
    assert code == 2
    assert "Invalid value for --all: it means every source; leave it out, or --source" in errors


@pytest.mark.long
def test_failed_summaries_are_made_again(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, notes: Path, loopback: Loopback
) -> None:
    """It said that everything was made with the current prompts, as the warning sent people to it."""
    (notes / "flood.txt").write_text(FLOOD)
    (notes / "office.txt").write_text(OFFICE)
    loopback.chat = offline_answer
    loopback.fault = lambda one: Reply.error(400) if role_of(one.body) == "summarise" else None
    limits = (("EXTRACTION__GLEANING", "0"), ("MERGING__SUMMARY_MIN_DESCRIPTIONS", "2"), ("LLM__MAX_RETRIES", "0"))
    for name, value in (("LLM__PROVIDER", "openai"), ("LLM__MODEL", "gpt-4o-mini"), *limits):
        monkeypatch.setenv(f"LIGHTRAG_{name}", value)
    monkeypatch.setenv("LIGHTRAG_SCOPES", '{"press": {"paths": ["flood.txt", "office.txt"]}}')
    warning = "`lightrag-dagster backfill --knowledge-base` asks for them again"
    build(load_settings(), graph=True)
    loopback.fault = lambda one: None
    assert warning in " ".join(command(capfd, monkeypatch, "status")[1].split())
    for words, expected in (
        (["plan", "--backfill"], "summaries │"),
        (["backfill"], "These are outdated: failed summaries, summaries of scope press; add --all, --source or --"),
        (["backfill", "--knowledge-base"], "Published gen-"),
        (["backfill"], "Everything was made with the current prompts, models and settings."),
    ):
        code, output, _ = command(capfd, monkeypatch, *words)
        assert (code, expected in " ".join(output.split())) == (0, True), output
    assert warning not in " ".join(command(capfd, monkeypatch, "status")[1].split())
