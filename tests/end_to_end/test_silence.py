"""Silence: something of each kind is lost on purpose, and what `docs/losses.md` says must speak does."""

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import dagster as dg
import fsspec
import pytest
import yaml
from fsspec.implementations.memory import MemoryFileSystem
from rich.console import Console

from lightrag_dagster.cli.progress import display
from lightrag_dagster.orchestration.instance import open_instance
from lightrag_dagster.orchestration.runner import make_report
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.home import Home
from tests.cli.test_cli import command
from tests.loopback import END_MARK, Answer, Loopback, Received, Reply, unused_port
from tests.models.models import offline_answer, role_of
from tests.passes import is_of_pass, write_schemas
from tests.readers.office.word.documents import paragraph, word

PAGE = Path(__file__).parents[2] / "docs" / "losses.md"
PLACES = ("alder", "birch", "cedar", "hazel", "maple", "rowan")
Files = dict[str, str | bytes]


class Row(NamedTuple):
    """A row of the page."""

    fault: str
    exit: str
    lines: str
    check: str
    metadata: str

    @property
    def source(self) -> str:
        """The source that has the fault."""
        return self.fault.replace(" ", "-")


def rows(code: int) -> list[Row]:
    """Return the rows of faults that end with an exit code."""
    first, _, _ = PAGE.read_text(encoding="utf-8").partition("\n## ")
    table = [line for line in first.splitlines() if line.startswith("| ")][1:]
    found = [Row(*(cell.strip() for cell in line.strip("|").split("|"))) for line in table]
    return [row for row in found if row.exit == str(code)]


def files(mark: str = "", marked: int = 1, **changed: str | bytes) -> Files:
    """Return six files, each a chunk of its own: the first ones with a mark that the server knows, some changed."""
    texts: dict[str, str | bytes] = {
        f"{place}.md": f"Marta Lindqvist repaired the gauge at Station {place.title()}{mark * (at < marked)}."
        for at, place in enumerate(PLACES)
    }
    return texts | {f"{place}.md": content for place, content in changed.items()}


LOSSES: Mapping[str, Files] = {
    "file unreadable": files(alder=b"\xc3\x28"),
    "file unreadable just now": files(),
    "file of another type": files() | {"picture.bin": b"\x00"},
    "most files of no known type": files() | {f"{place}.bin": b"\x00" for place in ("elm", *PLACES)},
    "file without text": files(alder=""),
    "file switched off by its front matter": files(alder="---\ndraft: true\n---\n\nMarta left."),
    "file unreadable in part, or in doubt": files(
        alder="Zoë Bär repaired the gauge at Station Älv, für Ødegård.".encode() + b" \xc3."
    ),
    "words of a file not read": files()
    | {"by-hand.docx": word(paragraph("Read.") + f"<w:ink>{paragraph('Marta drew a map.')}</w:ink>")},
    "chunk refused by the model": files(", REFUSED"),
    "answer cut off": files(", CUT-OFF"),
    "round failed": files(", NO-ROUND"),
    "row of an answer unusable": files(", BAD-ROW"),
    "answer without a row": files(alder="the coil is heated until it melts, and the wood burns"),
    "chunk refused in a pass": files(", NO-READING"),
    "answer of a pass cut off": files(", CUT-READING"),
    "row of a pass no fact": files(", NO-FACT"),
    "date of a fact unread": files(" last summer"),
    "names missing": {f"{place}.md": f"the coil is heated until it melts, and {place} burns" for place in PLACES},
    "summary failed": files(", UNSUMMARISED", 6),
    "text refused by the embedder": files(alder="UNEMBEDDED: Marta Lindqvist repaired the gauge at Station Alder."),
    "text longer than the embedder reads": files(", TOO-LONG" + " and the gauge again" * 20),
    "source removed": files(),
    "decision without effect": files(),
    "splits not exclusive": files(),
    "type not allowed": files(", of Hydrotec GmbH"),
}
"""Fault that ends with 0 → files of a source that has it."""

WITHHELD: Mapping[str, Files | None] = {
    "source not listed": None,
    "source gone": None,
    "files gone": {"left.md": "Marta Lindqvist left."},
    "files emptied": {f"{place}.md": "" for place in PLACES},
    "many files unreadable": {f"{place}.md": b"\xc3\x28" for place in PLACES},
    "many chunks refused": files(", REFUSED", 6),
    "many rows unusable": files(", BAD-ROW", 6),
}
"""Fault that ends with 1 → files of a source that has it; before, it was sound."""


DECISIONS = """
- {retype: Mirta Lundqvist, type: person}
- {split: Marta Lindqvist, into: One Marta, sources: [splits-not-exclusive]}
- {split: Marta Lindqvist, into: Another Marta, sources: [splits-not-exclusive]}
"""
REPAIRS = """
types: [person, thing]
relations:
  repaired: {from: person, to: thing, dated: true}
  stands: {from: thing, to: thing}
sources: [chunk-refused-in-a-pass, answer-of-a-pass-cut-off, row-of-a-pass-no-fact, date-of-a-fact-unread]
"""
FEW_WITHHELD = ("source not listed", "source gone", "many chunks refused")


class Breaking(MemoryFileSystem):  # type: ignore[misc]  # fsspec ships no types
    """Files in memory, of which one cannot be opened while `broken` names it."""

    protocol = "breaking"
    broken = ""

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(super()._strip_protocol(path.removeprefix("breaking://")))

    def _open(self, path: str, *arguments: Any, **options: Any) -> Any:
        if self.broken and path.endswith(self.broken):
            raise OSError(5, "Input/output error")
        return super()._open(path, *arguments, **options)


def read_facts(text: str) -> str | Answer:
    """Answer the question of a pass about the repair of a gauge, and where it stands."""
    said = {"subject": "Marta Lindqvist", "subject_type": "person", "relation": "repaired", "object": "gauge"}
    fact = said | {"words": "Marta Lindqvist repaired the gauge", "object_type": "thing", "value": ""}
    facts = [fact | {"when": "last summer" if "last summer" in text else ""}]
    at = {"words": "gauge at Station", "subject": "gauge", "subject_type": "thing", "relation": "stands", "when": ""}
    facts.append(fact | at | {"object": "Station"})
    facts += [fact | {"words": "Marta sold it", "when": ""}] * ("NO-FACT" in text)
    answer = json.dumps({"facts": facts})
    return Answer(answer[:-2], finish_reason="length") if "CUT-READING" in text else answer


def chat(body: dict[str, Any]) -> str | Answer:
    if is_of_pass(body):
        return read_facts(str(body["messages"][-1]))
    if role_of(body) == "extract" and len(body["messages"]) > 2:
        return END_MARK
    answer, text = offline_answer(body), str(body["messages"][-1])
    if "CUT-OFF" in text:
        return Answer(answer.partition(END_MARK)[0], finish_reason="length")
    return f"relation<|#|>Marta<|#|>\n{answer}" if "BAD-ROW" in text else answer


def fault(received: Received) -> Reply | None:
    body = received.body
    if "messages" not in body:
        given = body["input"]
        refused = "UNEMBEDDED" in str(given) or any("TOO-LONG" in text and len(text) > 300 for text in given)
        return Reply.error(400) if refused else None
    text, rounds = str(body["messages"]), len(body["messages"]) > 2
    summary = role_of(body) == "summarise"
    refused = (
        "REFUSED" in text
        or ("NO-READING" in text and is_of_pass(body))
        or ("NO-ROUND" in text and rounds)
        or ("UNSUMMARISED" in text and summary)
    )
    return Reply.error(400, "content_filter") if refused else None


@pytest.fixture
def folder(tmp_path: Path, loopback: Loopback, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the sources; the settings are a file in the working folder, and the model is the server."""
    loopback.chat, loopback.fault = chat, fault
    monkeypatch.setenv("COLUMNS", "500")
    monkeypatch.setattr(Breaking, "broken", "")
    fsspec.register_implementation("breaking", Breaking, clobber=True)
    (tmp_path / "sources").mkdir()
    (tmp_path / "names.yaml").write_text(DECISIONS)
    write_schemas(tmp_path / "readings", repairs=REPAIRS)
    settings = {
        "home": "home",
        "sources": "sources",
        "extraction": {"gleaning": 1},
        "merging": {"summary_min_descriptions": 3, "types": {"allowed": ["person", "location", "other"]}},
        "curation": "names.yaml",
        "readings": "readings",
        "llm": {"provider": "openai", "model": "gpt-4o-mini", "max_retries": 0},
        "embedding": {"provider": "openai", "dimensions": 8},
    }
    (tmp_path / "lightrag.yaml").write_text(yaml.safe_dump(settings))
    return tmp_path / "sources"


def write(folder: Path, source: str, content: Files) -> None:
    """Make a source hold exactly these files; each names its source, so that no chunk is in two."""
    (folder / source).mkdir(exist_ok=True)
    for path in (folder / source).iterdir():
        path.unlink()
    for name, text in content.items():
        data = text if isinstance(text, bytes) else f"{text} ({source})".encode() if text else b""
        (folder / source / name).write_bytes(data)


class Seen(NamedTuple):
    """What the Dagster UI shows: (check, source) → evaluation, (asset, source) → metadata; the last of each."""

    checks: dict[tuple[str, str | None], dg.AssetCheckEvaluation]
    metadata: dict[tuple[str, str | None], dict[str, Any]]


def in_the_ui() -> Seen:
    """Make the report, as a schedule does, and look at what all runs have left."""
    settings = load_settings()
    with display(Console(quiet=True)) as shown:
        make_report(settings, shown)
    seen = Seen({}, {})
    with open_instance(Home.of(settings)) as instance:
        for run in reversed(instance.get_runs()):
            for entry in instance.all_logs(run.run_id):
                event = entry.dagster_event
                if event is None:
                    continue
                if event.event_type is dg.DagsterEventType.ASSET_CHECK_EVALUATION:
                    check = event.asset_check_evaluation_data
                    seen.checks[check.check_name, check.partition] = check
                elif event.event_type is dg.DagsterEventType.ASSET_MATERIALIZATION and event.asset_key:
                    values = event.step_materialization_data.materialization.metadata
                    at = event.asset_key.path[-1], event.partition
                    seen.metadata[at] = {name: value.value for name, value in values.items()}
    return seen


def silent(row: Row, output: str, seen: Seen) -> list[str]:
    """Return what says nothing of a fault although the page says that it does."""
    where = [row.source, None]
    found = []
    words = row.lines.strip("`")
    kind, separator, count = words.partition(": ")
    lost = count.lstrip("0123456789 ")  # the line has the sum over all sources
    counted = rf"^{kind}: .*\b\d+ {lost}\b.* of \d+ \(.*\b{row.source}\b" if separator else re.escape(words)
    if not re.search(counted, output, re.MULTILINE):
        found.append(words)
    name, judged = re.fullmatch(r"`(\w+)` (passes|warns|fails)", row.check).groups()  # type: ignore[union-attr]
    check = next(seen.checks[name, source] for source in where if (name, source) in seen.checks)
    severity = {"warns": dg.AssetCheckSeverity.WARN, "fails": dg.AssetCheckSeverity.ERROR}.get(judged)
    asset, entry = re.fullmatch(r"`(\w+)`: `([^`]+)`", row.metadata).groups()  # type: ignore[union-attr]
    if check.passed is not (judged == "passes") or (severity and check.severity is not severity):
        found.append(f"check {name}: {check}")
    key = f"{kind}: {lost}" if name == "accepted" else entry
    if check.passed and not check.metadata[key].value:
        found.append(f"metadata of check {name}")
    values = next(seen.metadata[asset, source] for source in where if (asset, source) in seen.metadata)
    if entry not in values or (not values[entry] and entry != "dagster/partition_row_count"):
        found.append(f"metadata {entry} of {asset}: {sorted(values)}")
    return found


def test_the_page_has_every_fault() -> None:
    assert [row.fault for row in rows(0)] == list(LOSSES)
    assert [row.fault for row in rows(1)] == list(WITHHELD)
    assert [row.fault for row in rows(2)] == ["endpoint away", "vector unusable", "decisions at odds"]


@pytest.mark.long  # tests of `status` and of losses show each line, those that are withheld the whole way
def test_what_is_lost_of_a_published_source_is_said(
    folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    system, just_now = Breaking(), "file unreadable just now"
    for row in rows(0):
        if row.fault == just_now:
            for name, text in LOSSES[just_now].items():
                system.pipe(f"/{row.source}/{name}", f"{text!s} ({row.source})".encode())
            monkeypatch.setenv("LIGHTRAG_NAMED_SOURCES", json.dumps({row.source: {"uri": f"breaking:///{row.source}"}}))
        else:
            write(folder, row.source, LOSSES[row.fault])
    earlier = ["--source", "file-unreadable-just-now", "--source", "source-removed"]
    assert command(capfd, monkeypatch, "run", *earlier)[0] == 0
    shutil.rmtree(folder / "source-removed")
    system.pipe("/file-unreadable-just-now/alder.md", b"Other words.")
    monkeypatch.setattr(Breaking, "broken", "alder.md")
    code, output, errors = command(capfd, monkeypatch, "run", "--accept-deletes")
    assert (code, errors) == (0, "")
    _, status, _ = command(capfd, monkeypatch, "status")
    seen = in_the_ui()
    for row in rows(0):
        assert silent(row, output, seen) == [], row.fault
        assert silent(row, status, seen) == [], row.fault


@pytest.mark.parametrize(
    "faults",
    [pytest.param(FEW_WITHHELD, id="few"), pytest.param(tuple(WITHHELD), id="every", marks=pytest.mark.long)],
)
def test_a_source_that_is_withheld_is_named(
    folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, faults: tuple[str, ...]
) -> None:
    chosen = [row for row in rows(1) if row.fault in faults]
    for row in chosen:
        write(folder, row.source, files())
    assert command(capfd, monkeypatch, "run")[0] == 0
    for row in chosen:
        content = WITHHELD[row.fault]
        if content is not None:
            write(folder, row.source, content)
            continue
        shutil.rmtree(folder / row.source)
        if row.fault == "source not listed":
            monkeypatch.setenv("LIGHTRAG_NAMED_SOURCES", json.dumps({row.source: {"uri": str(folder / row.source)}}))
    code, output, _ = command(capfd, monkeypatch, "run")
    assert code == 1
    _, status, _ = command(capfd, monkeypatch, "status")
    seen = in_the_ui()
    for row in chosen:
        assert re.search(rf"^{row.source} is withheld: ", output, re.MULTILINE), row.fault
        assert re.search(rf"^{row.source} is withheld: ", status, re.MULTILINE), row.fault
        assert silent(row, output, seen) == [], row.fault
        assert silent(row, status, seen) == [], row.fault


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id=row.fault, marks=[] if row.fault != "vector unusable" else pytest.mark.long)
        for row in rows(2)
    ],
)
def test_what_needs_a_person_is_one_line(
    folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, loopback: Loopback, row: Row
) -> None:
    write(folder, row.source, files())
    if row.fault == "endpoint away":
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{unused_port()}/v1")
    elif row.fault == "decisions at odds":
        Path("names.yaml").write_text("- {rename: Bergen, into: Oslo}\n- {rename: Bergen, into: Turku}\n")
    else:
        loopback.embed = lambda text, dimensions: [float("nan")] * dimensions
    code, _, errors = command(capfd, monkeypatch, "run")
    assert code == 2
    (line,) = [line for line in errors.splitlines() if line.startswith("error: ")]
    assert row.lines.strip("`") in line
    code, status, said = command(capfd, monkeypatch, "status")
    if row.fault == "decisions at odds":
        assert (code, said) == (0, "")
        assert line.removeprefix("error: ") in status
        return
    assert "pending: " in status
    assert "Nothing is published" in status
