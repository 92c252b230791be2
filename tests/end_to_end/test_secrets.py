"""The key is in nothing that a run leaves behind, though the server does its best to spread it."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lightrag_dagster.settings import load_settings
from tests.conftest import API_KEY
from tests.loopback import Loopback, Received, Reply
from tests.models.models import offline_answer, role_of
from tests.support import FLOOD, OFFICE, RIVER, build, write_source

ROOT = Path(__file__).parents[2]


SETTINGS = {
    "LIGHTRAG_HOME": "home",
    "LIGHTRAG_SOURCES": "sources",
    "LIGHTRAG_LLM__PROVIDER": "openai",
    "LIGHTRAG_LLM__MODEL": "gpt-4o-mini",
    "LIGHTRAG_LLM__MAX_RETRIES": "0",
    "LIGHTRAG_EMBEDDING__PROVIDER": "openai",
    "LIGHTRAG_EMBEDDING__DIMENSIONS": "64",
    "LIGHTRAG_DOCUMENTS__MAX_FAILED_SHARE": "0.5",
}


COMMANDS = (["run"], ["query", "Who maintains the gauge at Halden Weir?"], ["status"])
SCRIPT = f"""
import sys
from lightrag_dagster.cli import main
for command in {COMMANDS!r}:
    sys.argv[1:] = command
    try:
        main()
    except SystemExit as ended:
        print("exit code", ended.code)
"""


def _lightrag(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the commands one after the other, in one process that logs all that the client does."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OPENAI_LOG": "debug"}
    return subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=folder, env=environment, capture_output=True, text=True, timeout=120,
        check=True,
    )  # fmt: skip


@pytest.mark.long  # test_providers.py holds it for each place
def test_the_key_is_nowhere(loopback: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)
    loopback.chat, loopback.dimensions = offline_answer, 64
    settings = load_settings()
    write_source(settings, "notes", {"river.md": RIVER})
    build(settings)
    write_source(settings, "notes", {"river.md": RIVER, "flood.txt": FLOOD, "office.txt": OFFICE})

    def spread(received: Received) -> Reply | None:
        """Refuse the flood for good, and the key for embeddings and answers, quoting it as servers do."""
        if "messages" not in received.body or role_of(received.body) != "extract":
            return Reply.error(401, "invalid_api_key", f"Incorrect API key provided: {API_KEY}")
        return Reply.error(400, "invalid_prompt", f"key {API_KEY}") if FLOOD in str(received.body) else None

    loopback.fault = spread
    done = _lightrag(tmp_path)

    codes = [line for line in done.stdout.splitlines() if line.startswith("exit code")]
    assert codes == ["exit code 2", "exit code 2", "exit code 0"], done.stderr
    assert any(received.headers["authorization"].endswith(API_KEY) for received in loopback.requests)
    assert "OPENAI_API_KEY" in done.stderr
    tables = [pq.read_table(file) for file in (tmp_path / "home").rglob("extractions/**/*.parquet")]
    assert any("failed" in table["status"].to_pylist() for table in tables)
    for text in _all_that_is_left(tmp_path, [done.stdout, done.stderr]):
        assert API_KEY not in text


def _all_that_is_left(folder: Path, outputs: list[str]) -> list[str]:
    """Return the text of every file, that of Parquet files unpacked, and what was printed."""
    left = list(outputs)
    for file in folder.rglob("*"):
        if file.suffix == ".parquet":
            left.append(str(pq.read_table(file).to_pylist()))
        if file.is_file():
            left.append(file.read_bytes().decode("latin-1"))
    assert len(left) > 30
    return left


def test_the_search_would_find_it(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": [API_KEY]}), tmp_path / "a.parquet", compression="zstd")
    assert any(API_KEY in text for text in _all_that_is_left(tmp_path, [""] * 30))
