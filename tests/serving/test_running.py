"""The start of a service: what it refuses, and what is missing without its extra."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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


@pytest.mark.parametrize(("section", "price"), [("llm", {"input": 0, "output": 0}), ("embedding", 0)])
def test_a_limit_of_dollars_needs_the_prices_of_all_models(
    published_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, section: str, price: object
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LIGHTRAG_HOME", str(published_home))
    entry = {"name": "keeper", "sha256": sha256(KEYS["keeper"].encode()).hexdigest(), "dollars_a_day": 1}
    monkeypatch.setenv("SERVE_TOKENS", json.dumps({"tokens": [entry]}))
    assert _service(None, 60, 1, log_questions=False)
    for name, value in {"PROVIDER": "openai", "MODEL": "my-own-model"}.items():
        monkeypatch.setenv(f"LIGHTRAG_{section.upper()}__{name}", value)
    with pytest.raises(SettingsError, match=rf"has dollars_a_day, but .* my-own-model .* set {section}\.prices"):
        _service(None, 60, 1, log_questions=False)
    monkeypatch.setenv(f"LIGHTRAG_{section.upper()}__PRICES", json.dumps({"my-own-model": price}))
    assert _service(None, 60, 1, log_questions=False)


@contextmanager
def commanded(home: Path, log: Path) -> Iterator[httpx2.Client]:
    """Run `serve` with the token of the keeper for the block, and yield a client with it."""
    entry = {"name": "keeper", "sha256": sha256(KEYS["keeper"].encode()).hexdigest()}
    port = unused_port()
    command = [sys.executable, "-m", "lightrag_dagster", "--home", str(home), "serve", "--port", str(port)]
    environment = os.environ | {"SERVE_TOKENS": json.dumps({"tokens": [entry]})}
    with log.open("w") as told, subprocess.Popen(command, env=environment, stdout=told, stderr=told) as process:
        accepted = {"accept": "application/json, text/event-stream", "X-API-Key": KEYS["keeper"]}
        try:
            with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=60, headers=accepted) as client:
                until(lambda: is_ready(client), 60)
                yield client
        finally:
            process.terminate()
        assert process.wait(20) in (0, 143)


def is_ready(client: httpx2.Client) -> bool:
    """Say whether a service is ready."""
    with suppress(httpx2.TransportError):
        return client.get("/ready").status_code == 200
    return False


@pytest.mark.long
def test_a_header_that_does_not_end_is_refused(published_home: Path, tmp_path: Path) -> None:
    with commanded(published_home, tmp_path / "log") as client:
        with socket.create_connection((client.base_url.host, client.base_url.port), 10) as sent:
            with suppress(ConnectionError):
                for _ in range(100):
                    sent.sendall(b"GET /health HTTP/1.1\r\nX-Long: ".ljust(1_000, b"x"))
                    time.sleep(0.001)
            assert sent.recv(100).startswith(b"HTTP/1.1 400 ")
        assert client.get("/health").status_code == 200


@pytest.mark.long
def test_the_log_of_the_command_has_neither_tokens_nor_questions(published_home: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with commanded(published_home, log) as client:
        for name in ("search", "read", "entity", "Marzipan"):
            for given in ({"query": "Marzipan and more"}, {"id": "Marzipan"}, {"name": "Marzipan"}, {"Marzipan": 1}):
                call = {"name": name, "arguments": given}
                client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
        client.post("/mcp", content=b'{"Marzipan": ', headers={"content-type": "application/json"})
        client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "Marzipan", "params": {"Marzipan": 1}})
        client.post("/query", json={"query": "Marzipan?"}, headers={"X-API-Key": "a-wrong-token"})
    lines = log.read_text()
    assert lines.splitlines()[0].endswith(f" {published_home} is asked at {str(client.base_url).rstrip('/')}; 1 token")
    assert lines.count("POST /mcp 200") >= 16
    for secret in ("Marzipan", KEYS["keeper"], "a-wrong-token"):
        assert secret not in lines
