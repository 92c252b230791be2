"""Messages to people about failures: one for each cause, one a day while it lasts, and one when it is over.

Dagster's instance remembers what fails, so that all knowledge bases and machines of it tell of an outage once.
"""

import json
import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Iterable
from datetime import UTC, datetime, timedelta
from functools import partial
from textwrap import shorten
from typing import NamedTuple

import dagster as dg
from pydantic import BaseModel

from lightrag_dagster.core.identity import digest
from lightrag_dagster.core.text.counted import some_of
from lightrag_dagster.errors import cause_of, for_people
from lightrag_dagster.resources import LightRAG

WEBHOOK_VARIABLE = "LIGHTRAG_FAILURE_WEBHOOK"
"""The address may hold a key, so it is not a setting: it is read when it is used, and never logged."""

UI_VARIABLE = "LIGHTRAG_DAGSTER_URL"
"""Address of the Dagster UI, which Dagster itself does not know, for links to runs."""

ENVIRONMENT_VARIABLE = "LIGHTRAG_ENVIRONMENT"
"""The name of the deployment, such as production."""

WEBHOOK_SECONDS = 5.0
"""Timeout of a message: the sensor that sends it must answer Dagster within a minute."""

TELLING_SECONDS = 10.0
"""Time after which a tick sends no further message, for the same reason; the next one does."""

REPEATED = timedelta(days=1)
"""A failure that lasts is told again after this time."""

SETTLED = timedelta(seconds=45)
"""Time for which a new failure waits for others of the same cause: longer than until the sensor sees these."""

GATHERED = timedelta(minutes=5)
"""Time after which it is told although runs are under way that may fail too."""

_STATE = "lightrag/alerts"
_NAMED = 10
_TRIES = 5
_OTHERS_SECONDS = 0.05  # longer than another code location takes from reading the record to writing it

_LONGEST = 600
"""Maximum length of what a message says of an error. Characters."""

# It refuses a message with any other field.
_TEXT_ALONE = "chat.googleapis.com"

_log = logging.getLogger(__name__)
_changing = threading.Lock()


class Subject(NamedTuple):
    """The part of a knowledge base that fails or recovers: a job, of one source if it has partitions."""

    place: str
    job: str
    source: str | None


class _Trouble(BaseModel):
    """A cause of failures: those that failed for it, and those that still do.

    `since` is the first failure that was not told yet; `told` when people were told last. The `error` is kept until
    that is done, since it may quote a document.
    """

    since: datetime
    told: datetime | None = None
    error: str | None = None
    run_id: str | None = None
    failed: set[Subject] = set()
    failing: set[Subject] = set()


_Troubles = dict[str, _Trouble]


def place_of(lightrag: LightRAG) -> str:
    """Return the name of a knowledge base in messages: its namespace, or its home where there is none."""
    return lightrag.settings.namespace or lightrag.home.name


def failed(instance: dg.DagsterInstance, subject: Subject, run_id: str, error: str) -> None:
    """Remember a failure, so that `tell` tells of it, with others of the same cause; nothing without a webhook."""
    if not os.environ.get(WEBHOOK_VARIABLE):
        return
    error = for_people(error)
    cause, now = digest(cause_of(error)), datetime.now(UTC)

    def change(troubles: _Troubles) -> None:
        for other, trouble in troubles.items():
            if other != cause and subject in trouble.failing:
                trouble.failing.discard(subject)
                trouble.failed.discard(subject)
        one = troubles.setdefault(cause, _Trouble(since=now))
        if one.error is None:
            one.error, one.run_id = error, run_id
        one.failed.add(subject)
        one.failing.add(subject)

    _changed(instance, change)


def recovered(instance: dg.DagsterInstance, subjects: Collection[Subject], run_id: str) -> None:
    """Remember that something works again."""

    def change(troubles: _Troubles) -> None:
        for trouble in troubles.values():
            if repaired := trouble.failing.intersection(subjects):
                trouble.failing -= repaired
                trouble.run_id = run_id

    if any(not one.failing.isdisjoint(subjects) for one in _troubles(instance).values()):
        _changed(instance, change)


def removed(instance: dg.DagsterInstance, place: str, sources: Iterable[str]) -> None:
    """Remember that nothing fails any more of sources that were removed."""
    recovered(instance, [Subject(place, job, one) for one in sources for job in ("ingest", "backfill")], "")


def tell(instance: dg.DagsterInstance, place: str, *, idle: bool) -> None:
    """Tell of each cause that is new, lasts for a day, or is over; what is not delivered is sent next time.

    A new one is told when nothing else can fail for it, since it befell this place alone, which is `idle`, or has done
    so for GATHERED.
    """
    now, until = datetime.now(UTC), time.monotonic() + TELLING_SECONDS
    for cause, one in _troubles(instance).items():
        said = _due(one, now, idle=idle and {subject.place for subject in one.failing} == {place})
        if said is None:
            continue
        if not said or post(one.failing or one.failed, one.run_id, said) is None:
            _changed(instance, partial(_note_told, cause=cause, at=now if one.failing else None))
        if time.monotonic() > until:
            return


def forget(instance: dg.DagsterInstance, place: str) -> None:
    """Forget each cause for which a knowledge base fails, or others with it; what fails again is told once more."""

    def change(troubles: _Troubles) -> None:
        for cause in [cause for cause, one in troubles.items() if place in {subject.place for subject in one.failed}]:
            del troubles[cause]

    _changed(instance, change)


def _due(one: _Trouble, now: datetime, *, idle: bool) -> str | None:
    """Return what is to be told of a cause now, "" if it is over before it was; None if that has time."""
    if not one.failing:
        return "" if one.told is None else f"work{'s' if len(one.failed) == 1 else ''} again"
    waits = REPEATED if one.told else SETTLED if idle else GATHERED
    if one.error is None or now - (one.told or one.since) < waits:
        return None
    verb = "failed" if one.told is None else f"still fail{'s' if len(one.failing) == 1 else ''}"
    return f"{verb}: {one.error}"


def _note_told(troubles: _Troubles, cause: str, at: datetime | None) -> None:
    """Note when a cause was told, or forget it if it is over."""
    if at is None:
        troubles.pop(cause, None)
    elif one := troubles.get(cause):
        one.told, one.error = at, None


def post(subjects: Iterable[Subject], run_id: str | None, what: str) -> str | None:
    """Post a message to the webhook, if there is one; return why it was not delivered, else None.

    `text` is for people, and all that Slack, Teams and Google Chat show; the other fields are for programs.
    """
    address = os.environ.get(WEBHOOK_VARIABLE)
    if not address:
        return f"{WEBHOOK_VARIABLE} is not set"
    ui = os.environ.get(UI_VARIABLE, "").rstrip("/")
    environment = os.environ.get(ENVIRONMENT_VARIABLE)
    url = f"{ui}/runs/{run_id}" if ui and run_id else None
    places = sorted({one.place for one in subjects})
    named = _in_words(subjects)
    place = f"{', '.join(places)}{f' ({environment})' if environment else ''}"
    text = f"{place}: {named} {shorten(what, _LONGEST, placeholder=' …')}{f' {url}' if url else ''}"
    body: dict[str, object] = {"text": text}
    if _TEXT_ALONE not in address:
        sources = sorted({one.source for one in subjects if one.source})
        about = {"run_id": run_id, "url": url, "places": places, "sources": sources, "environment": environment}
        body |= {name: value for name, value in about.items() if value}
    problem = _sent(address, body)
    if problem:
        _log.warning("the message about %s was not delivered: %s", named, problem)
    return problem


def _in_words(subjects: Iterable[Subject]) -> str:
    """Return words such as `ingest of sources mails, notes and publish`."""
    jobs: dict[str, list[str]] = {}
    for one in sorted(subjects, key=lambda one: (one.job, one.source or "")):
        jobs.setdefault(one.job, []).extend([one.source] if one.source else [])
    parts = []
    for job, sources in jobs.items():
        of = f" of source{'s' if len(sources) > 1 else ''} {some_of(sources, _NAMED)}" if sources else ""
        parts.append(f"{job}{of}")
    return " and ".join(parts)


def _sent(address: str, body: dict[str, object]) -> str | None:
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


def _troubles(instance: dg.DagsterInstance) -> _Troubles:
    """Return cause → what fails for it; a damaged record costs a message too many, and no other."""
    text = instance.daemon_cursor_storage.get_cursor_values({_STATE}).get(_STATE)
    try:
        return {cause: _Trouble.model_validate(one) for cause, one in json.loads(text or "{}").items()}
    except (ValueError, AttributeError):
        _log.warning("the record of what fails is damaged and is written again: what fails is told once more")
        return {}


def _changed(instance: dg.DagsterInstance, change: Callable[[_Troubles], None]) -> None:
    """Change the record; one thread at a time, since a code location evaluates its sensors in several.

    Those of other code locations have no lock in common: what one of them wrote over is changed again.
    """
    with _changing:
        for _ in range(_TRIES):
            troubles = _troubles(instance)
            change(troubles)
            kept = {cause: one for cause, one in troubles.items() if one.failed}
            if kept == _troubles(instance):
                return
            text = json.dumps({cause: one.model_dump(mode="json") for cause, one in kept.items()}, ensure_ascii=False)
            instance.daemon_cursor_storage.set_cursor_values({_STATE: text})
            time.sleep(_OTHERS_SECONDS)
