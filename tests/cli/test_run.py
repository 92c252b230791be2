"""`run` and `status` as a person meets them, where a source is withheld."""

import json
import shutil
from pathlib import Path

import pytest

from lightrag_dagster.settings import load_settings
from tests.cli.test_cli import command
from tests.loopback import Answer, Loopback, Reply
from tests.models.models import offline_answer
from tests.support import RIVER, build, published, write_source


@pytest.mark.long  # test_silence.py holds it too
def test_a_withheld_source_is_never_silent(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, notes: Path
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    (notes / "broken.txt").write_bytes(b"\xc3\x28")
    (notes / "image.png").write_bytes(b"\x89PNG")
    build(load_settings())
    code, output, _ = command(capfd, monkeypatch, "run")
    assert code == 1
    assert "notes is withheld: 1 of 2 documents of source 'notes' failed (50.0%)" in output
    assert "broken.txt: not valid UTF-8" in output
    assert "Nothing is published" in output

    code, output, _ = command(capfd, monkeypatch, "status")
    assert "notes is withheld: 1 of 2 documents" in output
    assert "1 failed, 1 processed, 1 skipped" in " ".join(output.split())

    monkeypatch.setenv("LIGHTRAG_DOCUMENTS__MAX_FAILED_SHARE", "0.5")
    code, output, _ = command(capfd, monkeypatch, "run")
    assert (code, "Published gen-" in output) == (0, True)


@pytest.mark.long
@pytest.mark.usefixtures("notes")
def test_what_answers_lack_is_said(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, loopback: Loopback
) -> None:
    for name, value in (("LLM__PROVIDER", "openai"), ("LLM__MODEL", "gpt-6-luna"), ("EXTRACTION__GLEANING", "0")):
        monkeypatch.setenv(f"LIGHTRAG_{name}", value)
    monkeypatch.setenv("COLUMNS", "200")
    loopback.chat = lambda body: Answer(f"entity<|#|>\n{offline_answer(body)}", "length")
    build(load_settings())
    code, output, _ = command(capfd, monkeypatch, "run")
    assert code == 0
    lines = output.splitlines()[-2:]
    assert [line.split(": lightrag-dagster sql ")[0] for line in lines] == [
        "chunks: 1 truncated of 1 (notes)",
        "rows of answers: 1 rejected of 11 (notes)",
    ]
    for line in lines:
        _, rows, _ = command(capfd, monkeypatch, "sql", line.split('"')[1], "--format", "json")
        assert len(json.loads(rows)) == 1
    _, output, _ = command(capfd, monkeypatch, "status")
    assert output.splitlines()[-2:] == lines


@pytest.mark.usefixtures("notes")
def test_with_nothing_to_do_one_line_is_printed(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    build(load_settings(), graph=True)
    code, output, errors = command(capfd, monkeypatch, "run")
    assert (code, errors) == (0, "")
    assert output.startswith("Nothing changed; gen-")
    assert len(output.splitlines()) == 1


@pytest.mark.long  # tests/pipeline/test_deletion_guard.py has the rule
@pytest.mark.usefixtures("notes")
def test_deletions_are_accepted_of_the_sources_that_are_named(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = load_settings()
    for source in ("press", "tickets"):
        write_source(settings, source, {"river.md": f"{RIVER} It is in {source}."})
    build(settings)
    for source in ("press", "tickets"):
        shutil.rmtree(settings.sources / source)
    code, output, _ = command(capfd, monkeypatch, "run", "--source", "press", "--accept-deletes")
    assert (code, "press is no longer a source" in output) == (0, True)
    assert list(published(settings).inputs.sources) == ["notes", "tickets"]


@pytest.mark.long
def test_lost_rows_are_listed_also_of_a_withheld_source_that_was_not_asked_for(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, notes: Path
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    settings = load_settings()
    for source in ("gone", "held", "press"):
        write_source(settings, source, {"river.md": f"{RIVER} It is in {source}.", "empty.txt": ""})
    build(settings)
    shutil.rmtree(settings.sources / "gone")
    shutil.rmtree(settings.sources / "held")
    build(settings.changed(documents={"accept_deletes": ["gone"]}))
    (notes / "broken.txt").write_bytes(b"\xc3\x28")
    build(settings)
    code, output, _ = command(capfd, monkeypatch, "run", "--source", "press")
    (line,) = [one for one in output.splitlines() if one.startswith("documents: ")]
    lost, printed = line.split(": lightrag-dagster sql --unpublished ")
    assert (code, lost) == (0, "documents: 1 failed, 2 empty of 6 (held, notes, press)")
    _, listed, _ = command(capfd, monkeypatch, "sql", "--unpublished", printed.strip('"'), "--format", "csv")
    rows = sorted(tuple(line.split(",")[:3]) for line in listed.splitlines()[1:])
    assert rows == [
        ("held", "empty.txt", "empty"),
        ("notes", "broken.txt", "failed"),
        ("press", "empty.txt", "empty"),
    ]


@pytest.mark.long
def test_a_run_that_ends_after_the_publication_says_that_it_published(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, notes: Path, tmp_path: Path, loopback: Loopback
) -> None:
    loopback.chat = offline_answer
    loopback.fault = lambda one: Reply.error(401) if "Who is asked?" in str(one.body) else None
    (questions := tmp_path / "questions.yaml").write_text("- question: Who is asked?\n")
    for name, value in (("LLM__PROVIDER", "openai"), ("LLM__MODEL", "gpt-6-luna"), ("EXTRACTION__GLEANING", "0")):
        monkeypatch.setenv(f"LIGHTRAG_{name}", value)
    build(load_settings(), graph=True)
    monkeypatch.setenv("LIGHTRAG_QUESTIONS", str(questions))
    code, output, errors = command(capfd, monkeypatch, "run")
    assert (code, "Published" in output + errors) == (2, False), "it published nothing"
    (notes / "river.md").write_text(f"{RIVER} It is deep.")
    code, output, errors = command(capfd, monkeypatch, "run")
    now = published(load_settings())
    assert now is not None
    said, _, error = errors.splitlines()[-3:]
    assert (code, said, error[:7]) == (2, f"Published {now.snapshot_id}.", "error: ")
    (notes / "river.md").write_text(f"{RIVER} It is wide.")
    code, output, _ = command(capfd, monkeypatch, "run", "--json")
    facts, built = json.loads(output), published(load_settings())
    assert built is not None
    assert (code, facts["built"], facts["snapshot_id"]) == (2, built.snapshot_id, built.snapshot_id)
    assert built.snapshot_id != now.snapshot_id
    held = command(capfd, monkeypatch, "rollback", now.snapshot_id)
    assert held[0] == 0, held
    (notes / "river.md").write_text(f"{RIVER} It is cold.")
    _, _, errors = command(capfd, monkeypatch, "run")
    assert [line.endswith(", which waits for release.") for line in errors.splitlines()[-3:]] == [True, False, False]
