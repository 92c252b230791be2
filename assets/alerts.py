"""Messages to people about failures: one when something starts to fail, one a day while it does, one when it recovers.

The home remembers what fails, in `alerts.json` beside `failures.jsonl`.
"""

import json
import logging
import os
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from textwrap import shorten
from typing import NamedTuple

from filelock import FileLock

from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.home import Home

WEBHOOK_VARIABLE = "LIGHTRAG_FAILURE_WEBHOOK"
"""The address may hold a key, so it is not a setting: it is read when it is used, and never logged."""

UI_VARIABLE = "LIGHTRAG_DAGSTER_URL"
"""Address of the Dagster UI, which Dagster itself does not know, for links to runs."""

ENVIRONMENT_VARIABLE = "LIGHTRAG_ENVIRONMENT"
"""The name of the deployment, such as production."""

WEBHOOK_SECONDS = 5.0
"""Timeout of a message: the sensor that sends it must answer Dagster within a minute."""

REPEATED = timedelta(days=1)
"""A failure that lasts is told again after this time."""

_LONGEST = 600
"""Maximum length of what a message says of an error. Characters."""

# It refuses a message with any other field.
_TEXT_ALONE = "chat.googleapis.com"

_log = logging.getLogger(__name__)


class Subject(NamedTuple):
    """The part of a knowledge base that fails or recovers: a job, of one source if it has partitions."""

    namespace: str
    job: str
    source: str | None

    def __str__(self) -> str:
        of_source = f" of source {self.source}" if self.source else ""
        return f"{self.job}{of_source}"


def failed(home: Home, subject: Subject, run_id: str, error: str) -> None:
    """Tell of a failure, unless that was done within a day; a message that is not delivered is sent next time."""
    now, told = datetime.now(UTC), _told(home).get(str(subject))
    if told is not None and now - told < REPEATED:
        return
    if post(home, subject, run_id, f"{'still fails' if told else 'failed'}: {error}") is None:
        _remember(home, subject, now)


def recovered(home: Home, subject: Subject, run_id: str) -> None:
    """Tell of a success, if the last that was told is a failure."""
    if str(subject) in _told(home) and post(home, subject, run_id, "works again") is None:
        _remember(home, subject, None)


def failing(home: Home, namespace: str) -> list[Subject]:
    """Return what failed when people were told last."""
    parts = (name.partition(" of source ") for name in _told(home))
    return [Subject(namespace, job, source or None) for job, _, source in parts]


def post(home: Home, subject: Subject, run_id: str | None, what: str) -> str | None:
    """Post a message to the webhook, if there is one; return why it was not delivered, else None.

    `text` is for people, and all that Slack, Teams and Google Chat show; the other fields are for programs.
    """
    address = os.environ.get(WEBHOOK_VARIABLE)
    if not address:
        return f"{WEBHOOK_VARIABLE} is not set"
    ui, environment = os.environ.get(UI_VARIABLE, "").rstrip("/"), os.environ.get(ENVIRONMENT_VARIABLE)
    url = f"{ui}/runs/{run_id}" if ui and run_id else None
    place = f"{subject.namespace or home.name}{f' ({environment})' if environment else ''}"
    text = f"{place}: {subject} {shorten(what, _LONGEST, placeholder=' …')}{f' {url}' if url else ''}"
    body = {"text": text}
    if _TEXT_ALONE not in address:
        about = {"run_id": run_id, "url": url, "namespace": subject.namespace, "home": home.name}
        body |= {name: value for name, value in (about | {"environment": environment}).items() if value}
    problem = _sent(address, body)
    if problem:
        _log.warning("the message about %s was not delivered: %s", subject, problem)
    return problem


def _sent(address: str, body: dict[str, str]) -> str | None:
    """Post a body within WEBHOOK_SECONDS in all; return why it was not delivered, without the address, else None."""
    import httpx2

    problems: list[str | None] = []

    def send() -> None:
        try:
            httpx2.post(address, json=body, timeout=WEBHOOK_SECONDS).raise_for_status()
            problems.append(None)
        except httpx2.HTTPStatusError as error:
            problems.append(f"the webhook answered with status {error.response.status_code}")
        except Exception as error:  # an address can be wrong in many ways
            problems.append(type(error).__name__)

    # A client's own timeouts are for each read, and a server may send a byte a second.
    sending = threading.Thread(target=send, name="lightrag-alert", daemon=True)
    sending.start()
    sending.join(WEBHOOK_SECONDS)
    return problems[0] if problems else f"the webhook did not answer within {WEBHOOK_SECONDS:g} s"


def _remember(home: Home, subject: Subject, told: datetime | None) -> None:
    """Keep the time when a failure was told, or that there is none."""
    file = _file(home)
    file.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(file.with_suffix(".lock")):
        state = {name: time for name, time in _told(home).items() if name != str(subject)}
        if told is not None:
            state[str(subject)] = told
        times = {name: time.isoformat(timespec="seconds") for name, time in state.items()}
        atomic.write_text(file, json.dumps(times, ensure_ascii=False))


def _told(home: Home) -> dict[str, datetime]:
    """Return what fails and when that was told last; a damaged file costs a message too many, and no other."""
    file = _file(home)
    if not file.exists():
        return {}
    try:
        found = json.loads(file.read_bytes())
        return {subject: datetime.fromisoformat(told).astimezone(UTC) for subject, told in found.items()}
    except (ValueError, TypeError, AttributeError):
        _log.warning("%s is damaged and is written again: what fails is told once more", file)
        return {}


def _file(home: Home) -> Path:
    return home.failures.with_name("alerts.json")
