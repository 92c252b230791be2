"""The start of a service: what it refuses, and what is missing without its extra."""

import subprocess
import sys
from pathlib import Path

import pytest

from lightrag_dagster.errors import SettingsError
from lightrag_dagster.serving import listen
from tests.serving.doors import service_of


def test_a_service_for_others_needs_tokens(published_home: Path) -> None:
    with pytest.raises(SettingsError, match=r"at 0\.0\.0\.0 anyone could ask; give --tokens"):
        listen(service_of(published_home), "0.0.0.0", 0)


@pytest.mark.parametrize("command", ["serve", "mcp"])
def test_a_missing_extra_is_one_line(published_home: Path, command: str) -> None:
    told = "import sys; sys.modules['prometheus_client'] = None; from lightrag_dagster.cli import console; console()"
    asked = [sys.executable, "-c", told, "--home", str(published_home), command]
    ended = subprocess.run(asked, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 2, ended.stderr
    assert "prometheus_client is missing; `serve` and `mcp` need the extra `serve`" in " ".join(ended.stderr.split())
