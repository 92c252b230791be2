"""How a command ends: signals, errors, and what is printed last."""

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import click
import pytest
import typer
from typer.testing import CliRunner

from lightrag_dagster.cli import exits
from lightrag_dagster.cli.exits import Commands
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.snapshots import published_snapshot
from tests.cli.test_cli import command
from tests.loopback import Loopback, Reply
from tests.storage.test_locking import hold
from tests.support import FLOOD, first_build

ROOT = Path(__file__).parents[2]


def stop(
    arguments: list[str], number: signal.Signals, when: Callable[[], bool], output: int = subprocess.DEVNULL
) -> tuple[int, str]:
    """Send a signal to a command once something is true; return its exit code and standard error."""
    program = [sys.executable, "-m", "lightrag_dagster", *arguments]
    # A process that the shell starts in the background ignores SIGINT, and so would its children.
    with subprocess.Popen(
        ["env", "--default-signal=INT,TERM", *program],
        stdout=output,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    ) as started:
        until = time.monotonic() + 60
        while not when() and started.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        started.send_signal(number)
        try:
            _, errors = started.communicate(timeout=30)
        finally:
            started.kill()
        return started.returncode, errors


@pytest.mark.parametrize(
    ("arguments", "number", "code"),
    [pytest.param(["run"], signal.SIGTERM, 143, marks=pytest.mark.long), (["query", "Who?"], signal.SIGINT, 130)],
)
@pytest.mark.usefixtures("notes")
def test_a_signal_ends_a_command_with_one_line(
    monkeypatch: pytest.MonkeyPatch,
    published_home: Path,
    loopback: Loopback,
    arguments: list[str],
    number: signal.Signals,
    code: int,
) -> None:
    if arguments[0] == "query":
        monkeypatch.setenv("LIGHTRAG_HOME", str(published_home))
    monkeypatch.setenv("LIGHTRAG_LLM__PROVIDER", "openai")
    monkeypatch.setenv("LIGHTRAG_LLM__MODEL", "gpt-4o-mini")
    loopback.fault = lambda request: Reply(delay=20)
    ended, errors = stop(arguments, number, lambda: bool(loopback.requests))
    assert ended == code
    assert errors == f"stopped by {number.name}; run it again: all that was answered is kept\n"


def test_ctrl_c_while_a_command_is_imported_ends_it_without_a_traceback() -> None:
    interrupted = """
import os, signal, sys
class Interrupting:
    def find_spec(self, name, path, target=None):
        if name == "lightrag_dagster.cli.app":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
from lightrag_dagster.cli import console
console()
"""
    program = ["env", "--default-signal=INT", sys.executable, "-c", interrupted]
    ended = subprocess.run(
        program, stderr=subprocess.PIPE, text=True, timeout=60, env=os.environ | {"PYTHONPATH": str(ROOT)}
    )
    assert (ended.returncode, ended.stderr) == (-signal.SIGINT, "")


@pytest.mark.long
@pytest.mark.usefixtures("notes")
def test_a_run_that_a_signal_ends_prints_its_json(
    monkeypatch: pytest.MonkeyPatch, loopback: Loopback, tmp_path: Path
) -> None:
    monkeypatch.setenv("LIGHTRAG_LLM__PROVIDER", "openai")
    monkeypatch.setenv("LIGHTRAG_LLM__MODEL", "gpt-4o-mini")
    loopback.fault = lambda request: Reply(delay=20)
    with (tmp_path / "out").open("w+") as output:
        code, _ = stop(["run", "--json"], signal.SIGTERM, lambda: bool(loopback.requests), output.fileno())
        output.seek(0)
        assert (code, json.load(output)["error"][:14]) == (143, "it ended early")


def test_a_signal_that_a_library_swallows_ends_the_command_all_the_same() -> None:
    program = (
        "import os, signal, time, typer; from lightrag_dagster.cli import exits\n"
        "exits.GRACE_SECONDS = 0.2\n"
        "app = typer.Typer(cls=exits.Commands)\n"
        "app.callback()(lambda: None)\n"
        "@app.command()\n"
        "def swallow():\n"
        "    try: os.kill(os.getpid(), signal.SIGTERM); time.sleep(30)\n"
        "    except BaseException: time.sleep(30)\n"
        "app(['swallow'])"
    )
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=20)
    assert ended.returncode == 143
    assert ended.stderr.startswith("stopped by SIGTERM; ")


def test_a_limit_of_open_files_is_named_by_whichever_step_meets_it(published_home: Path) -> None:
    (folder,) = published_home.glob("generations/*/adjacency")
    program = (
        "import resource, typer; from pathlib import Path; from lightrag_dagster.cli import exits\n"
        "from lightrag_dagster.indexes.adjacency import has_adjacency\n"
        "app = typer.Typer(cls=exits.Commands)\n"
        "app.callback()(lambda: None)\n"
        "@app.command()\n"
        "def look():\n"
        f"    folder = Path({str(folder)!r})\n"
        "    assert has_adjacency(folder)\n"
        "    resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))\n"
        "    has_adjacency(folder)\n"
        "app(['look'])"
    )
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60)
    said = "error: more than 4 files would be open at once; raise `ulimit -n`, then run it again\n"
    assert (ended.returncode, ended.stderr) == (2, said)


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> typer.Typer:
    """A command line of one command, with a fault in it; files for tracebacks go to the test's folder."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    app = typer.Typer(cls=Commands, pretty_exceptions_enable=False)

    @app.callback()
    def options(debug: bool = False) -> None:
        pass

    @app.command()
    def divide() -> None:
        raise ZeroDivisionError("two\nlines")

    @app.command()
    def end() -> None:
        sys.exit()

    return app


def test_an_unexpected_error_is_one_line_and_a_traceback_in_a_file(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, failing: typer.Typer
) -> None:
    with pytest.raises(SystemExit, match="70"):
        failing(["divide"])
    errors = capfd.readouterr().err
    assert errors.startswith("unexpected error: ZeroDivisionError: two lines; the traceback is in ")
    assert errors.count("\n") == 1
    (log,) = tmp_path.glob("lightrag-dagster-*.log")
    assert str(log) in errors
    assert log.read_text().startswith("Traceback")


def test_code_of_others_that_ends_the_process_does_not_end_a_command_in_silence(
    capfd: pytest.CaptureFixture[str], failing: typer.Typer
) -> None:
    with pytest.raises(SystemExit, match="70"):
        failing(["end"])
    assert capfd.readouterr().err.startswith("unexpected error: SystemExit: ; the traceback is in ")


def test_a_traceback_can_be_printed(capfd: pytest.CaptureFixture[str], tmp_path: Path, failing: typer.Typer) -> None:
    with pytest.raises(SystemExit, match="70"):
        failing(["--debug", "divide"])
    errors = capfd.readouterr().err
    assert errors.startswith("Traceback")
    assert errors.splitlines()[-1] == "unexpected error: ZeroDivisionError: two lines"
    assert not list(tmp_path.glob("*.log"))


def test_a_wrong_option_is_explained_by_typer(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, _, errors = command(capfd, monkeypatch, "run", "--no-such-option")
    assert code == 2
    assert "No such option" in errors
    assert "it stands before" not in errors


@pytest.mark.parametrize("words", ["find Sable --scope press", "run --home data", "snapshots pin a b --debug"])
def test_an_option_that_stands_before_the_command_is_said_to(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    code, _, errors = command(capfd, monkeypatch, *words.split())
    (option,) = [word for word in words.split() if word.startswith("--")]
    assert (code, f"No such option: {option}; it stands before the command: " in errors) == (2, True)
    assert f" {option} …" in errors


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["sql", "from nowhere"], marks=pytest.mark.long),
        ["cypher", "match nothing"],
        pytest.param(["query", "?"], marks=pytest.mark.long),
    ],
    ids=" ".join,
)
def test_nothing_is_printed_after_an_error(
    monkeypatch: pytest.MonkeyPatch, published_home: Path, arguments: list[str]
) -> None:
    monkeypatch.setenv("LIGHTRAG_HOME", str(published_home))
    code, errors = ended(arguments, subprocess.DEVNULL)
    assert code == 2
    assert errors.startswith("error: ")
    assert errors.count("\n") == 1


@pytest.mark.long
def test_an_error_of_a_step_ends_the_run_with_one_line(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Dagster raises it from an error that it wraps it in, so that each comes from the other."""
    (tmp_path / "first.sql").write_text("FROM raw_documents")
    (tmp_path / "sources" / "notes").mkdir(parents=True)
    (tmp_path / "sources" / "notes" / "flood.md").write_text(FLOOD)
    for name, value in (("HOME", "home"), ("SOURCES", "sources"), ("CHECKS", ".")):
        monkeypatch.setenv(f"LIGHTRAG_{name}", str(tmp_path / value))
    code, _, errors = command(capfd, monkeypatch, "run")
    assert code == 2
    assert "must not be published as the first snapshot" in errors.splitlines()[-1]


@pytest.mark.long
def test_nothing_is_printed_after_an_error_of_an_embedder(
    loopback: Loopback, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Dagster keeps the error, whose frames hold a connection of DuckDB, which lists at the end what is left of it."""
    (tmp_path / "sources" / "notes").mkdir(parents=True)
    (tmp_path / "sources" / "notes" / "flood.md").write_text(FLOOD)
    embedding = {"PROVIDER": "openai", "MODEL": "small", "DIMENSIONS": "3", "BASE_URL": loopback.url}
    places = {"HOME": str(tmp_path / "home"), "SOURCES": str(tmp_path / "sources")}
    for name, value in (places | {f"EMBEDDING__{name}": value for name, value in embedding.items()}).items():
        monkeypatch.setenv(f"LIGHTRAG_{name}", value)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    loopback.embed = lambda text, _: [float(len(text))] * 8
    code, errors = ended(["run"], subprocess.DEVNULL)
    assert code == 2
    assert "in place of 3" in errors.splitlines()[-1]


def test_after_a_signal_the_event_loop_has_nothing_to_say(caplog: pytest.LogCaptureFixture) -> None:
    asyncio_log = logging.getLogger("asyncio")
    with exits._signals():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        asyncio_log.error("of a connection")
    asyncio_log.error("of the next command")
    assert caplog.messages == ["of the next command"]


def test_an_exit_of_an_older_typer_which_is_of_click_is_an_exit() -> None:
    app = typer.Typer(cls=Commands)

    @app.command()
    def done() -> None:
        raise click.exceptions.Exit(0)

    app.command("another")(lambda: None)
    ended = CliRunner().invoke(app, ["done"])
    assert isinstance(ended.exception, click.exceptions.Exit) or (ended.exit_code, ended.stderr) == (0, "")


def ended(arguments: list[str], output: int) -> tuple[int, str]:
    """Run a command that writes to a descriptor; return its exit code and standard error."""
    program = [sys.executable, "-m", "lightrag_dagster", *arguments]
    variables = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(program, stdout=output, stderr=subprocess.PIPE, text=True, env=variables, timeout=120)
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["sql", "select 1"],
        pytest.param(["sql", "select 1", "--format", "json"], marks=pytest.mark.long),
        pytest.param(["snapshots"], marks=pytest.mark.long),
        ["--help"],
        pytest.param(["dbt-sources"], marks=pytest.mark.long),
    ],
)
def test_a_full_output_is_one_line_and_exit_code_2(
    monkeypatch: pytest.MonkeyPatch, published_home: Path, arguments: list[str]
) -> None:
    monkeypatch.setenv("LIGHTRAG_HOME", str(published_home))
    full = os.open("/dev/full", os.O_WRONLY)
    code, errors = ended(arguments, full)
    os.close(full)
    assert code == 2
    assert errors == (
        "error: standard output or a disk is full: No space left on device; make room, then run it again\n"
    )


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param(["snapshots"], 0, marks=pytest.mark.long),
        pytest.param(["sql", "select 1"], 0, marks=pytest.mark.long),
        (["sql", "from range(9)", "--format", "csv"], 128 + signal.SIGPIPE),
        (["snapshots", "--help"], 128 + signal.SIGPIPE),
    ],
)
def test_a_question_whose_answer_nobody_reads_ends_without_a_word(
    monkeypatch: pytest.MonkeyPatch, published_home: Path, arguments: list[str], code: int
) -> None:
    monkeypatch.setenv("LIGHTRAG_HOME", str(published_home))
    reader, writer = os.pipe()
    os.close(reader)
    assert ended(arguments, writer) == (code, "")
    os.close(writer)


@pytest.mark.long  # a question whose answer nobody reads is the quick one
@pytest.mark.usefixtures("notes")
def test_a_run_whose_output_nobody_reads_goes_on_to_its_end() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    assert ended(["run"], writer) == (0, "")
    os.close(writer)
    assert published_snapshot(Home.of(load_settings())) is not None


@pytest.mark.long
def test_a_command_that_finds_another_builder_has_an_exit_code_of_its_own(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, notes: Path, tmp_path: Path
) -> None:
    first_build(load_settings())
    (notes / "flood.md").write_text(FLOOD)
    with hold(Home.of(load_settings())) as other:
        for arguments in ["run"], ["gc"], ["rollback", "gen-1"], ["release"], ["backup", str(tmp_path / "copy")]:
            code, output, errors = command(capfd, monkeypatch, *arguments, "--wait-lock", "0s")
            assert (code, output, errors.startswith(f"error: process {other.pid} on ")) == (75, "", True)
            assert "is building in" in errors
        released = threading.Timer(0.5, other.communicate, [""])
        released.start()
        assert command(capfd, monkeypatch, "gc", "--wait-lock", "1m")[0] == 0
        released.join()
    code, _, errors = command(capfd, monkeypatch, "run", "--wait-lock", "soon")
    assert (code, "'soon' cannot be a time" in errors) == (2, True)
