"""The start of a service: what it refuses, and what is missing without its extra."""

import json
import os
import socket
import subprocess
import sys
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import httpx2
import pytest

from lightrag_dagster.cli.serve import _service
from lightrag_dagster.errors import SettingsError
from lightrag_dagster.serving import listen
from tests.loopback import unused_port
from tests.serving.doors import KEYS, service_of, until


def test_a_service_for_others_needs_tokens(published_home: Path) -> None:
    with pytest.raises(SettingsError, match=r"at 0\.0\.0\.0 anyone could ask; give --tokens"):
        listen(service_of(published_home), "0.0.0.0", 0)


def test_a_port_that_is_taken_is_one_line(published_home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(SettingsError, match="name another --port"):
        listen(service_of(published_home), "127.0.0.1", taken.getsockname()[1])


def test_a_token_of_a_scope_that_the_settings_lack_is_refused_unless_the_machine_only_asks(
    published_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LIGHTRAG_HOME", str(published_home))
    entry = {"name": "keeper", "sha256": sha256(KEYS["keeper"].encode()).hexdigest(), "scope": "bord"}
    monkeypatch.setenv("SERVE_TOKENS", json.dumps({"tokens": [entry]}))
    monkeypatch.delenv("LIGHTRAG_SOURCES", raising=False)
    assert _service(None, 60, 1, log_questions=False)  # the settings of the machine that builds may have it
    for scopes in ("{}", '{"board": {"sources": ["notes"]}}'):
        monkeypatch.setenv("LIGHTRAG_SOURCES", str(tmp_path))
        monkeypatch.setenv("LIGHTRAG_SCOPES", scopes)
        with pytest.raises(SettingsError, match="a token names the scope bord, which `scopes` of the settings lacks"):
            _service(None, 60, 1, log_questions=False)


@pytest.mark.long
@pytest.mark.parametrize("command", ["serve", "mcp"])
def test_a_missing_extra_is_one_line(published_home: Path, command: str) -> None:
    told = "import sys; sys.modules['prometheus_client'] = None; from lightrag_dagster.cli import console; console()"
    asked = [sys.executable, "-c", told, "--home", str(published_home), command]
    ended = subprocess.run(asked, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 2, ended.stderr
    assert "prometheus_client is missing; `serve` and `mcp` need the extra `serve`" in " ".join(ended.stderr.split())


@pytest.mark.long
def test_the_log_of_the_command_has_neither_tokens_nor_questions(published_home: Path, tmp_path: Path) -> None:
    entry = {"name": "keeper", "sha256": sha256(KEYS["keeper"].encode()).hexdigest()}
    port, log = unused_port(), tmp_path / "log"
    command = [sys.executable, "-m", "lightrag_dagster", "--home", str(published_home), "serve", "--port", str(port)]
    environment = os.environ | {"SERVE_TOKENS": json.dumps({"tokens": [entry]})}
    with log.open("w") as told, subprocess.Popen(command, env=environment, stdout=told, stderr=told) as process:
        accepted = {"accept": "application/json, text/event-stream", "X-API-Key": KEYS["keeper"]}
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=60, headers=accepted) as client:

            def is_ready() -> bool:
                with suppress(httpx2.TransportError):
                    return client.get("/ready").status_code == 200
                return False

            until(is_ready, 60)
            for name in ("search", "read", "entity", "Marzipan"):
                for given in (
                    {"query": "Marzipan and more"},
                    {"id": "Marzipan"},
                    {"name": "Marzipan"},
                    {"Marzipan": 1},
                ):
                    call = {"name": name, "arguments": given}
                    client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
            client.post("/mcp", content=b'{"Marzipan": ', headers={"content-type": "application/json"})
            client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "Marzipan", "params": {"Marzipan": 1}})
            client.post("/query", json={"query": "Marzipan?"}, headers={"X-API-Key": "a-wrong-token"})
        process.terminate()
        assert process.wait(20) in (0, 143)
    lines = log.read_text()
    assert lines.splitlines()[0].endswith(f" {published_home} is asked at http://127.0.0.1:{port}; 1 token")
    assert lines.count("POST /mcp 200") >= 16
    for secret in ("Marzipan", KEYS["keeper"], "a-wrong-token"):
        assert secret not in lines
