"""A service in a thread, asked over loopback."""

import logging
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx2
import uvicorn
import yaml

from lightrag_dagster.serving import Service, ServiceLimits, Tokens, app_of
from lightrag_dagster.settings import Settings, load_settings

KEYS = {"keeper": "a-long-token-of-the-keeper", "board": "a-long-token-of-the-board"}
"""Tokens in the clear, by the names of their owners."""


def tokens(**given: dict[str, Any]) -> Tokens:
    """Return tokens of KEYS with some limits each."""
    entries = [{"name": name, "sha256": sha256(KEYS[name].encode()).hexdigest(), **own} for name, own in given.items()]
    return Tokens(yaml.safe_dump({"tokens": entries}), "tokens.yaml")


def service_of(home: Path | Settings, **given: Any) -> Service:
    """Return a service of a home."""
    settings = home if isinstance(home, Settings) else load_settings(home=home)
    limits = ServiceLimits(**given.pop("limits", {}))
    return Service(settings, limits=limits, **given)


@contextmanager
def listening(service: Service, **given: Any) -> Iterator[httpx2.Client]:
    """Run a service for the block, and yield a client of it."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        given = {"app": app_of(service, **given), "http": "h11", "timeout_graceful_shutdown": 5}
        config = uvicorn.Config(**given, log_level="critical")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        until(lambda: server.started)
        try:
            with httpx2.Client(base_url=f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=60) as client:
                yield client
        finally:
            server.should_exit = True
            thread.join(20)
            logging.getLogger("uvicorn").handlers.clear()


def until(happens: Any, seconds: float = 20) -> None:
    """Wait until something is true; raises TimeoutError."""
    deadline = time.monotonic() + seconds
    while not happens():
        if time.monotonic() > deadline:
            raise TimeoutError(f"it did not happen within {seconds} s")
        time.sleep(0.01)
