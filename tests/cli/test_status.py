"""`status` as a person meets it."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from lightrag_dagster.settings import load_settings
from lightrag_dagster.spending.account import Entry
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.database.looks import Looks
from lightrag_dagster.storage.home import Home
from tests.cli.test_cli import command
from tests.loopback import Loopback
from tests.passes import WORKS, answer, facts_of, is_of_pass, write_schemas
from tests.support import FLOOD, RIVER, build, first_build, without_rights


@pytest.mark.long
def test_a_scope_that_shows_no_document_is_named(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, notes: Path
) -> None:
    monkeypatch.setenv("LIGHTRAG_SCOPES", '{"board": {"sources": ["boards"]}, "all": {"sources": ["notes"]}}')
    monkeypatch.setenv("COLUMNS", "200")
    said = "scope board shows no document; correct its rule, or `access` of documents"
    code, output, _ = command(capfd, monkeypatch, "run")
    assert (code, f"warning: {said}" in output.splitlines()) == (0, True)
    assert command(capfd, monkeypatch, "status", "--check")[:2] == (1, f"{said}\n")
    assert command(capfd, monkeypatch, "--scope", "all", "status", "--check")[:2] == (0, "")  # nothing of others
    code, output, _ = command(capfd, monkeypatch, "status")
    assert [line for line in output.splitlines() if line.startswith("scope ")] == [
        "scope board: it shows no document",
        "scope all: published, 1 document",
    ]
    assert f"warning: {said}" in output.splitlines()


@pytest.mark.long
def test_a_scope_tells_its_own_losses_and_no_mistake_in_what_it_hides(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, notes: Path, tmp_path: Path
) -> None:
    monkeypatch.setenv("LIGHTRAG_SCOPES", '{"press": {"paths": ["open/*"]}, "calm": {"paths": ["river.md"]}}')
    monkeypatch.setenv("LIGHTRAG_DOCUMENTS__MAX_FAILED_SHARE", "0.9")
    monkeypatch.setenv("COLUMNS", "200")
    (notes / "open").mkdir()
    for name, content in (("hidden.txt", b"\xc3\x28"), ("open/broken.txt", b"\xc3\x28"), ("open/a.txt", b"no names")):
        (notes / name).write_bytes(content)
    build(load_settings(), graph=True)
    (decisions := tmp_path / "decisions.yaml").write_text(
        "- apart: [Marta Lindqvist, Jonas Feld]\n- merge: [Marta Lindqvist, Jonas Feld]\n"
    )
    monkeypatch.setenv("LIGHTRAG_CURATION", str(decisions))
    assert "Marta Lindqvist" in command(capfd, monkeypatch, "status")[1]
    code, output, _ = command(capfd, monkeypatch, "--scope", "press", "status")
    said = 'documents: 1 failed of 2 (notes): lightrag-dagster --scope press sql "select source, path, status, error'
    assert (code, said in output) == (0, True), output
    assert "warning: the graph of gen-" in output
    _, as_json, _ = command(capfd, monkeypatch, "--scope", "press", "status", "--json")
    found = json.loads(as_json)
    assert next((one["of"], one["total"]) for one in found["losses"]) == ("documents", 2)
    assert any(one.startswith("the graph of gen-") for one in found["warnings"])
    _, calm, _ = command(capfd, monkeypatch, "--scope", "calm", "status")
    _, checked, _ = command(capfd, monkeypatch, "--scope", "press", "status", "--check")
    assert "failed" not in calm
    assert not [one for one in ("Marta", "hidden", "decisions.yaml") if one in output + as_json + calm + checked]


@pytest.mark.long
def test_it_counts_what_is_listed_and_what_was_lost(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, notes: Path
) -> None:
    monkeypatch.setenv("LIGHTRAG_DOCUMENTS__MAX_FAILED_SHARE", "0.5")
    monkeypatch.setenv("COLUMNS", "200")
    (notes / "flood.txt").write_text(FLOOD)
    (notes / "equal.txt").write_text(FLOOD)
    (notes / "broken.txt").write_bytes(b"\xc3\x28")
    build(load_settings(), graph=True)  # so that the command `run` has nothing to do
    lost = "documents: 1 failed of 4 (notes)"
    code, output, _ = command(capfd, monkeypatch, "status")
    assert code == 0
    assert "4 documents listed, 2 chunks at 3 places" in output
    assert f'{lost}: lightrag-dagster sql "select source, path, status, error from raw_documents' in output
    assert re.search(r"Disk: [\d.]+ [kM]B in 1 kept snapshot, .*; `lightrag-dagster gc` could remove [\d.]+ ", output)

    options = ("--home", str(load_settings().home), "--sources", str(notes.parent))
    _, output, _ = command(capfd, monkeypatch, *options, "status")
    assert f'{lost}: lightrag-dagster {" ".join(options)} sql "select source' in output

    code, output, _ = command(capfd, monkeypatch, "status", "--json")
    (loss,) = json.loads(output)["losses"]
    disk = json.loads(output)["disk"]
    assert (disk["snapshots"], disk["failed"]) == (1, "")
    assert 0 < disk["removable_bytes"] < disk["kept_bytes"], "versions of vectors between two steps of the build"
    assert (loss["of"], loss["counts"]["failed"], loss["total"], loss["sources"]) == ("documents", 1, 4, ["notes"])
    code, listed, _ = command(capfd, monkeypatch, "sql", loss["query"], "--format", "csv")
    assert [line.split(",")[1:3] for line in listed.splitlines()[1:]] == [["broken.txt", "failed"]]

    code, output, _ = command(capfd, monkeypatch, "run")
    assert (code, output.splitlines()[-1].startswith(lost)) == (0, True)

    monkeypatch.setenv("LIGHTRAG_DOCUMENTS__MAX_FAILED_SHARE", "0.1")
    (notes / "again.txt").write_bytes(b"\xc3\x28")
    code, output, _ = command(capfd, monkeypatch, "run")
    lost, printed = output.splitlines()[-1].split(": lightrag-dagster sql --unpublished ")
    assert (code, lost) == (1, "documents: 2 failed of 5 (notes)")
    code, listed, _ = command(capfd, monkeypatch, "sql", "--unpublished", printed.strip('"'), "--format", "csv")
    assert [line.split(",")[1] for line in listed.splitlines()[1:]] == ["again.txt", "broken.txt"]


def test_a_check_is_an_exit_code_and_a_line_for_each_reason(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, notes: Path, tmp_path: Path
) -> None:
    code, output, _ = command(capfd, monkeypatch, "status", "--check")
    assert (code, output.splitlines()) == (1, [f"nothing is published in {load_settings().home.absolute()}"])
    first_build(load_settings())
    (notes / "new.md").write_text(FLOOD)
    assert command(capfd, monkeypatch, "status", "--check")[:2] == (0, "")  # the next run ingests it
    (notes / "broken.txt").write_bytes(b"\xc3\x28")
    build(load_settings())
    code, output, _ = command(capfd, monkeypatch, "status", "--check")
    assert (code, output.count("\n")) == (1, 1)
    assert output.startswith("notes is withheld: ")
    monkeypatch.setenv("LIGHTRAG_SOURCES", str(tmp_path / "nowhere"))
    assert command(capfd, monkeypatch, "status", "--check")[0] == 2


_LONG = [pytest.param(one, marks=pytest.mark.long) for one in ("cur/{}.M1P7.imap1", "tool-{}")]


def test_a_run_that_failed_is_a_line_while_a_source_waits(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, notes: Path
) -> None:
    build(load_settings())
    Looks(Home.of(load_settings()).ledger).failed("notes", "the provider is away; run again")
    assert json.loads(command(capfd, monkeypatch, "status", "--json")[1])["failing"] == []
    (notes / "new.md").write_text(FLOOD)
    line = "notes waits, since the last run failed 1 minute ago: the provider is away; run again"
    code, output, _ = command(capfd, monkeypatch, "status")
    assert (code, line in output.splitlines()) == (0, True)
    assert json.loads(command(capfd, monkeypatch, "status", "--json")[1])["failing"] == [line]
    assert command(capfd, monkeypatch, "status", "--check")[:2] == (1, f"{line}\n")


def test_a_mistake_in_a_schema_or_a_decision_takes_nothing_else_away(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, notes: Path, tmp_path: Path
) -> None:
    build(load_settings())
    folder = write_schemas(tmp_path / "readings", works=WORKS.replace("single", "singel"))
    (tmp_path / "decisions.yaml").write_text("- merge: [A, B]\n- mrege: [C, D]\n")
    monkeypatch.setenv("LIGHTRAG_READINGS", str(folder))
    monkeypatch.setenv("LIGHTRAG_CURATION", str(tmp_path / "decisions.yaml"))
    schema = f"{folder}/works.yaml, line 3: relations.maintains.singel does not exist; did you mean "
    said = [f"{schema}relations.maintains.single?", "decisions.yaml:2: a decision has one of "]
    code, output, errors = command(capfd, monkeypatch, "status")
    assert (code, errors) == (0, "")
    assert "│ notes  │ published │" in output
    assert [output.count(f"warning: {one}") for one in said] == [1, 1]
    facts = json.loads(command(capfd, monkeypatch, "status", "--json")[1])
    assert [line[: len(one)] for line, one in zip(facts["warnings"], said, strict=False)] == said
    code, output, errors = command(capfd, monkeypatch, "status", "--check")
    assert (code, errors) == (1, "")
    assert [line[: len(one)] for line, one in zip(output.splitlines(), said, strict=True)] == said
    assert command(capfd, monkeypatch, "run")[0] == 2


@pytest.mark.long
@pytest.mark.parametrize("name", ["{}.dat", *_LONG])
def test_a_source_whose_files_are_mostly_of_no_known_type_is_named(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, notes: Path, name: str
) -> None:
    """A maildir of 23 mails was published as nothing, without a word."""
    monkeypatch.setenv("COLUMNS", "300")
    office = notes.parent / "office"
    for number in range(23):
        (office / name.format(number)).parent.mkdir(parents=True, exist_ok=True)
        (office / name.format(number)).write_bytes(b"\0\1")
    warning = (
        "23 of 23 files of office are skipped, since their types are not known; name these by types, or leave the "
        "files out by exclude: settings of named_sources.office, as docs/sources.md says under “Types”"
    )
    code, output, _ = command(capfd, monkeypatch, "plan")
    assert (code, f"warning: {warning}" in output.splitlines()) == (0, True)
    build(load_settings())
    for arguments in (["run"], ["status"], ["plan"]):
        code, output, _ = command(capfd, monkeypatch, *arguments)
        assert (code, f"warning: {warning}" in output.splitlines()) == (0, True)
    assert warning in json.loads(command(capfd, monkeypatch, "status", "--json")[1])["warnings"]
    assert command(capfd, monkeypatch, "status", "--check")[:2] == (1, f"{warning}\n")
    for number in range(23):
        (office / f"{number}.md").write_text(f"Note {number}.")
    build(load_settings())
    assert command(capfd, monkeypatch, "status", "--check")[:2] == (0, "")


def test_a_damaged_file_of_the_snapshot_is_named(
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    published_home: Path,
    tmp_path: Path,
    notes: Path,
) -> None:
    home = shutil.copytree(published_home, tmp_path / "home")
    monkeypatch.setenv("LIGHTRAG_HOME", str(home))
    (arrays,) = home.glob("generations/gen-*/adjacency/entities.arrow")
    os.truncate(arrays, 100)
    code, output, _ = command(capfd, monkeypatch, "status", "--check")
    damaged = [line for line in output.splitlines() if "entities.arrow has 100 bytes" in line]
    assert (code, [line.endswith("`lightrag-dagster run` builds it again") for line in damaged]) == (1, [True])
    assert damaged[0] in command(capfd, monkeypatch, "status")[1]
    assert json.loads(command(capfd, monkeypatch, "status", "--json")[1])["damaged"] == damaged


def test_a_source_that_cannot_be_listed_is_withheld(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, notes: Path, tmp_path: Path
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("LIGHTRAG_NAMED_SOURCES", json.dumps({"absent": {"uri": str(tmp_path / "absent")}}))
    code, output, _ = command(capfd, monkeypatch, "status", "--check")
    assert (code, output.splitlines()[0].startswith("absent is withheld: source 'absent'")) == (1, True)
    _, output, _ = command(capfd, monkeypatch, "status")
    (row,) = (line for line in output.splitlines() if line.startswith("│ absent"))
    assert row.split("│")[2].strip() == "withheld"
    assert "absent is withheld: source 'absent'" in output
    _, output, _ = command(capfd, monkeypatch, "plan")
    assert "absent would be withheld: source 'absent'" in output


def test_without_the_folder_of_sources_it_shows_what_is_published(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, published_home: Path, tmp_path: Path
) -> None:
    monkeypatch.setenv("LIGHTRAG_HOME", str(shutil.copytree(published_home, tmp_path / "home")))
    code, output, errors = command(capfd, monkeypatch, "status")
    only_asks = "Nothing names sources, and there is no folder `sources`: this machine only asks."
    assert (code, output.splitlines()[-1], errors) == (0, only_asks, "")
    code, output, _ = command(capfd, monkeypatch, "status", "--json")
    assert (code, json.loads(output)["error"], json.loads(output)["sources"]) == (0, None, {})
    monkeypatch.setenv("LIGHTRAG_SOURCES", "sources")
    code, output, errors = command(capfd, monkeypatch, "status")
    assert code == 2
    assert output.startswith("Published: gen-")
    assert errors.startswith("error: the folder of sources 'sources' cannot be listed: ")
    assert errors.count("\n") == 1
    assert command(capfd, monkeypatch, "status", "--check") == (2, "", errors)
    code, output, again = command(capfd, monkeypatch, "status", "--json")
    facts = json.loads(output)
    assert (code, again, f"error: {facts['error']}\n", facts["sources"]) == (2, errors, errors, {})
    assert facts["snapshot_id"].startswith("gen-")


def test_losses_of_what_is_published_are_told_where_no_source_can_be_listed(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, notes: Path
) -> None:
    monkeypatch.setenv("LIGHTRAG_DOCUMENTS__MAX_FAILED_SHARE", "1")
    (notes / "flood.txt").write_text(FLOOD)
    (notes / "broken.docx").write_text("no archive")
    build(load_settings())
    shutil.rmtree(notes.parent)
    output = command(capfd, monkeypatch, "status")[1]
    assert 'documents: 1 failed of 3 (notes): lightrag-dagster sql "select ' in output
    (lost,) = json.loads(command(capfd, monkeypatch, "status", "--json")[1])["losses"]
    assert (lost["of"], lost["total"], lost["sources"]) == ("documents", 3, ["notes"])


@pytest.mark.long
def test_losses_of_passes_are_told_within_a_scope_and_where_no_source_is_there(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, notes: Path, tmp_path: Path, loopback: Loopback
) -> None:
    loopback.chat = lambda body: answer(body, facts_of(body, forged=["never said"]) if is_of_pass(body) else None)
    monkeypatch.setenv("LIGHTRAG_LLM__PROVIDER", "openai")
    monkeypatch.setenv("LIGHTRAG_LLM__MODEL", "gpt-4o-mini")
    monkeypatch.setenv("LIGHTRAG_EXTRACTION__GLEANING", "0")
    monkeypatch.setenv("LIGHTRAG_READINGS", str(write_schemas(tmp_path / "schemas", works=WORKS)))
    monkeypatch.setenv("LIGHTRAG_EXTRACTION__MAX_REJECTED_SHARE", "1")
    monkeypatch.setenv("LIGHTRAG_SCOPES", '{"press": {"sources": ["notes"]}}')
    build(load_settings())
    said = "rows of answers of pass works: 1 rejected of 2 (notes)"
    for words in (["status"], ["--scope", "press", "status"]):
        assert said in command(capfd, monkeypatch, *words)[1], words
    notes.rename(tmp_path / "away")
    assert said in command(capfd, monkeypatch, "status")[1]
    shutil.rmtree(notes.parent)
    assert said in command(capfd, monkeypatch, "status")[1]


def test_a_line_is_as_long_as_it_is_where_no_terminal_breaks_it(
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    published_home: Path,
    tmp_path: Path,
    notes: Path,
) -> None:
    monkeypatch.setenv("LIGHTRAG_HOME", str(shutil.copytree(published_home, tmp_path / "home")))
    monkeypatch.setenv("COLUMNS", "40")
    _, output, _ = command(capfd, monkeypatch, "status")
    first, counted, *_ = output.splitlines()
    assert re.fullmatch(r"Published: gen-\w+, number 1, at \S+", first)
    assert re.fullmatch(r"\d+ documents listed, .* relations", counted)


@pytest.mark.parametrize(
    ("name", "state", "shown", "spent"),
    [
        ("ledger", "is damaged", "Spent: not known.", None),
        ("responses", "is damaged", "", 0.0),
        ("vectors", "has no bytes", "", 0.0),
        ("batches", "is damaged", "Batches: not known.", 0.0),
    ],
)
def test_a_damaged_database_ends_it_after_all_else(
    name: str,
    state: str,
    shown: str,
    spent: float | None,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    published_home: Path,
    tmp_path: Path,
    notes: Path,
) -> None:
    home = shutil.copytree(published_home, tmp_path / "home")
    (home / f"{name}.sqlite").write_bytes(b"This is no database." * (100 if state == "is damaged" else 0))
    monkeypatch.setenv("LIGHTRAG_HOME", str(home))
    code, output, errors = command(capfd, monkeypatch, "status")
    assert (code, shown in output, "│ notes" in output) == (2, True, True)
    assert errors.startswith(f"error: {home}/{name}.sqlite {state}; restore it from a backup, or move it away (")
    assert errors.count("\n") == 1
    code, output, again = command(capfd, monkeypatch, "status", "--json")
    assert (code, json.loads(output)["spent_usd"], again) == (2, spent, errors)
    assert command(capfd, monkeypatch, "status", "--check") == (2, "", errors)


@pytest.mark.long
def test_it_needs_no_right_to_write(published_home: Path, tmp_path: Path) -> None:
    (tmp_path / "sources" / "notes").mkdir(parents=True)
    (tmp_path / "sources" / "notes" / "river.md").write_text(RIVER)
    home = shutil.copytree(published_home, tmp_path / "home")
    Ledger(home / "ledger.sqlite").add(Entry("run", "extract", "notes", "model", 1, 0, 100, 0, 20, 0.25))
    for path in (*home.rglob("*"), home):
        path.chmod(0o500 if path.is_dir() else 0o400)
    asked = ("-m", "lightrag_dagster", "--home", home, "--sources", "sources", "status")
    found = without_rights(*asked, cwd=tmp_path)
    assert (found.returncode, found.stderr) == (0, "")
    assert "Published: gen-" in found.stdout
    assert "Spent: $0.2500 so far, $0.2500 of it in " in found.stdout
