import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest

from lightrag_dagster.engines.processes import ProcessEngine
from lightrag_dagster.readers import isolation
from lightrag_dagster.readers.content import Limits, ReadingOptions, UnreadableError
from lightrag_dagster.readers.extraction import ExtractedText, extract_text
from lightrag_dagster.readers.isolation import extract_isolated
from tests.readers.office.workbooks import too_large

SAMPLES = Path(__file__).parent / "samples"
OPTIONS = ReadingOptions()
LIMITS = Limits(60, 2048)
GOOD = (SAMPLES / "hand.rtf").read_bytes()


@pytest.fixture
def own_processes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let a test see the parser processes that it starts alone."""
    parsers = cache(isolation._parsers.__wrapped__)
    monkeypatch.setattr(isolation, "_parsers", parsers)
    yield
    parsers(LIMITS.memory_mb).close()


def process() -> int:
    [parser] = isolation._parsers(LIMITS.memory_mb)._idle
    pid: int = parser.process.pid
    return pid


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("hand.rtf", marks=pytest.mark.long),
        "fpdf2.pdf",
        "xlsxwriter.xlsx",
        "plain.eml",
        "damaged/without-text.pdf",
    ],
)
def test_the_result_is_that_of_this_process(name: str) -> None:
    data = (SAMPLES / name).read_bytes()
    assert extract_isolated(data, name, OPTIONS, LIMITS) == extract_text(data, name)


@pytest.mark.long
@pytest.mark.usefixtures("own_processes")
def test_one_process_reads_many_files_and_reasons_do_not_end_it() -> None:
    extract_isolated(GOOD, "a.rtf", OPTIONS, LIMITS)
    first = process()
    with pytest.raises(UnreadableError, match="the file is empty"):
        extract_isolated(b"", "a.pdf", OPTIONS, LIMITS)
    extract_isolated(GOOD, "a.rtf", OPTIONS, LIMITS)
    assert process() == first


@pytest.mark.usefixtures("own_processes")
def test_a_file_that_takes_too_long_is_given_up() -> None:
    extract_isolated(GOOD, "a.rtf", OPTIONS, LIMITS)
    first, started = process(), time.monotonic()
    with pytest.raises(UnreadableError, match=r"^not read within documents\.max_seconds = 0\.3; raise it, or divide"):
        extract_isolated((SAMPLES / "hostile/inflates.pdf").read_bytes(), "a.pdf", OPTIONS, Limits(0.3, 2048))
    assert time.monotonic() - started < 5
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)
    assert extract_isolated(GOOD, "a.rtf", OPTIONS, LIMITS).title == "Gauge survey"


@pytest.mark.long
@pytest.mark.usefixtures("own_processes")
def test_a_file_that_needs_too_much_memory_costs_only_itself() -> None:
    small = Limits(60, 512)
    reason = r"needs more memory than documents\.max_memory_mb = 512; raise it, or divide the file$"
    with pytest.raises(UnreadableError, match=reason):
        extract_isolated(too_large(), "a.xlsx", OPTIONS, small)
    assert isolation._parsers(512)._idle == []
    assert extract_isolated(GOOD, "a.rtf", OPTIONS, small).title == "Gauge survey"


@pytest.mark.long
def test_memory_that_python_asks_for_is_limited_too() -> None:
    mail = b"Subject: long\r\n\r\n" + b"a" * 150_000_000
    with pytest.raises(UnreadableError, match=r"^needs more memory than documents\.max_memory_mb = 512"):
        extract_isolated(mail, "a.eml", OPTIONS, Limits(60, 512))


@pytest.mark.long
@pytest.mark.usefixtures("own_processes")
def test_a_process_that_was_killed_while_idle_is_replaced() -> None:
    extract_isolated(GOOD, "a.rtf", OPTIONS, LIMITS)
    os.kill(process(), signal.SIGKILL)
    assert extract_isolated(GOOD, "a.rtf", OPTIONS, LIMITS).title == "Gauge survey"


@pytest.mark.usefixtures("own_processes")
def test_the_process_gets_no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("LANGCHAIN_API_KEY", "sk-secret")
    monkeypatch.setenv("HF_HOME", "/models")
    extract_isolated(GOOD, "a.rtf", OPTIONS, LIMITS)
    environment = Path(f"/proc/{process()}/environ")
    if environment.exists():
        assert b"sk-secret" not in environment.read_bytes()
        assert b"HF_HOME=/models" in environment.read_bytes()


def test_a_mail_without_its_attachments_keeps_its_other_doubts(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = isolation._extract

    def too_long(data: bytes, path: str, options: ReadingOptions, limits: Limits) -> ExtractedText:
        if options.attachments:
            raise isolation._LimitError("not read within a second")
        return whole(data, path, options, limits)

    monkeypatch.setattr(isolation, "_extract", too_long)
    note = extract_isolated(b"Subject: Levels\n\nPegel f\xe4llt\n", "a.eml", OPTIONS, LIMITS).note or ""
    assert note.startswith("its attachments are not read: not read within a second; a text: its encoding is not")


def _title(name: str) -> str:
    return extract_isolated((SAMPLES / name).read_bytes(), name, OPTIONS, LIMITS).title


@pytest.mark.long
def test_workers_of_an_engine_have_parser_processes_of_their_own() -> None:
    with ProcessEngine(2) as engine:
        assert engine.map(_title, ["hand.rtf", "python-pptx.pptx"]) == ["Gauge survey", "Gauge deck"]


def test_threads_have_a_process_each() -> None:
    with ThreadPoolExecutor(2) as threads:
        titles = list(threads.map(_title, ["hand.rtf", "python-pptx.pptx"] * 5))
    assert titles == ["Gauge survey", "Gauge deck"] * 5
