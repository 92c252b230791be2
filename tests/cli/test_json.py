"""The facts that commands print for programs, held to the tables of docs/operations.md."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lightrag_dagster.settings import load_settings
from tests.cli.test_cli import command
from tests.loopback import Loopback, Reply
from tests.support import FLOOD, build

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"
NOTHING = type(None)
TYPES: dict[str, tuple[type, ...]] = {
    "text": (str,),
    "text or null": (str, NOTHING),
    "number": (int, float),
    "true or false": (bool,),
    "list of text": (list,),
    "list of objects": (list,),
    "object of text": (dict,),
    "object of numbers": (dict,),
    "object of objects": (dict,),
    "object": (dict,),
    "object or null": (dict, NOTHING),
    "number or null": (int, float, NOTHING),
}
PARTS: dict[str, tuple[type, ...]] = {
    "list of text": (str,),
    "list of objects": (dict,),
    "object of text": (str,),
    "object of numbers": (int, float),
    "object of objects": (dict,),
}


def documented(command: str, part: str = "") -> dict[str, str]:
    """Return field → type, as the page has them; of each object in a part of the facts, if one is named."""
    head = f"each of `{part}` in `{command} --json`" if part else f"`{command} --json`"
    rows = PAGE.read_text("utf-8").partition(f"| {head} | type | |\n")[2].partition("\n\n")[0]
    return dict(re.findall(r"^\| `(\w+)` \| ([a-z ]+) \|", rows, re.MULTILINE))


def check(facts: Mapping[str, Any], described: Mapping[str, str]) -> None:
    """Check that facts have exactly the fields that are described, of these types."""
    assert facts.keys() == described.keys()
    for name, kind in described.items():
        value = facts[name]
        assert isinstance(value, TYPES[kind]), (name, value)
        parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        assert all(isinstance(part, PARTS[kind]) for part in parts if kind in PARTS), (name, value)


@pytest.mark.long
def test_commands_that_find_nothing_to_do_tell_it(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, notes: Path
) -> None:
    snapshot = build(load_settings(), graph=True).published
    assert snapshot is not None
    for arguments, more in (("run", {}), ("backfill", documented("backfill"))):
        code, output, errors = command(capfd, monkeypatch, arguments, "--json")
        facts = json.loads(output)
        check(facts, documented("run") | more)
        assert (code, facts["snapshot_id"], facts["built"], facts["error"]) == (0, snapshot.snapshot_id, None, None)
    assert (facts["started"], facts["plan"]) == (False, None)
    assert errors == "Everything was made with the current prompts, models and settings.\n"
    code, output, _ = command(capfd, monkeypatch, "snapshots", "--json")
    listed = json.loads(output)
    assert (code, [*listed]) == (0, ["version", "snapshots"])
    for one in listed["snapshots"]:
        check(one, documented("snapshots"))
        assert (one["snapshot_id"], one["state"]) == (snapshot.snapshot_id, "published")


@pytest.mark.long
def test_a_run_tells_what_it_did(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, notes: Path
) -> None:
    (notes.parent / "office").mkdir()
    (notes.parent / "office" / "broken.txt").write_bytes(b"\xc3\x28")
    code, output, errors = command(capfd, monkeypatch, "run", "--json")
    facts = json.loads(output)
    check(facts, documented("run"))
    assert (code, facts["ingested"], list(facts["withheld"])) == (1, ["notes", "office"], ["office"])
    assert (facts["built"], facts["unpublished"]) == (facts["snapshot_id"], ["office"])
    assert errors == ""


VECTORS = {"LIGHTRAG_LLM__PROVIDER": "offline", "LIGHTRAG_EMBEDDING__PROVIDER": "openai"}


@pytest.mark.parametrize(
    ("fault", "settings", "ends", "withheld", "passing"),
    [
        pytest.param(Reply.error(401), {}, 2, [], False, marks=pytest.mark.long),
        pytest.param(Reply.error(503), {}, 1, ["notes"], True, marks=pytest.mark.long),
        (Reply.error(400), {}, 1, ["notes"], False),
        (Reply.error(503), VECTORS, 2, [], True),
        pytest.param(None, {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}, 2, [], True, marks=pytest.mark.long),
        pytest.param(None, {"LIGHTRAG_LLM__MAX_COST_USD": "0"}, 2, [], False, marks=pytest.mark.long),
    ],
)
def test_a_run_without_answers_tells_why_and_whether_it_may_pass(
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    notes: Path,
    loopback: Loopback,
    fault: Reply | None,
    settings: dict[str, str],
    ends: int,
    withheld: list[str],
    passing: bool,
) -> None:
    asked = {"LIGHTRAG_LLM__PROVIDER": "openai", "LIGHTRAG_LLM__MODEL": "gpt-4o-mini", "LIGHTRAG_LLM__MAX_RETRIES": "0"}
    for name, value in (asked | settings).items():
        monkeypatch.setenv(name, value)
    loopback.fault = lambda received: fault
    code, output, errors = command(capfd, monkeypatch, "run", "--json")
    facts = json.loads(output)
    check(facts, documented("run"))
    assert (code, facts["built"], list(facts["withheld"]), facts["passing"]) == (ends, None, withheld, passing)
    assert facts["error"] is None if ends == 1 else errors.splitlines()[-1] == f"error: {facts['error']}"


@pytest.mark.long
def test_a_backfill_tells_its_price_and_what_it_did(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, notes: Path
) -> None:
    build(load_settings(), graph=True)
    monkeypatch.setenv("LIGHTRAG_EXTRACTION__ANSWER_FORMAT", "json_object")
    for arguments, started in ((["backfill"], False), (["backfill", "--all"], True)):
        code, output, errors = command(capfd, monkeypatch, *arguments, "--json")
        facts = json.loads(output)
        check(facts, documented("run") | documented("backfill"))
        check(facts["plan"] | {"version": facts["version"]}, documented("plan"))
        assert (code, facts["started"], [one["source"] for one in facts["plan"]["sources"]]) == (0, started, ["notes"])
        assert "✓" not in errors


def test_a_plan_tells_each_source_and_step_and_shows_no_progress_on_a_pipe(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, notes: Path
) -> None:
    (notes / "flood.md").write_text(FLOOD)
    code, output, errors = command(capfd, monkeypatch, "plan", "--json")
    facts = json.loads(output)
    check(facts, documented("plan"))
    (source,) = facts["sources"]
    check(source, documented("plan", "sources"))
    assert facts["steps"].keys() == {"extraction", "summaries", "embeddings"}
    for step in facts["steps"].values():
        check(step, documented("plan", "steps"))
        assert step["cost"].keys() == facts["total"].keys() == {"expected", "low", "high"}
    assert (code, source["source"]) == (0, "notes")
    assert errors == ""


def test_status_tells_the_snapshot_and_each_source_before_and_after_it_is_published(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, notes: Path
) -> None:
    snapshot = None
    for state in ("pending: raw_documents, never made", "published"):
        code, output, _ = command(capfd, monkeypatch, "status", "--json")
        facts = json.loads(output)
        check(facts, documented("status"))
        check(facts["sources"]["notes"], documented("status", "sources"))
        assert (code, facts["snapshot_id"], facts["sources"]["notes"]["state"]) == (0, snapshot, state)
        published = build(load_settings(), graph=True).published
        snapshot = published.snapshot_id if published else None
    assert facts["disk"].keys() == {"snapshots", "kept_bytes", "removable_bytes", "failed"}


def test_status_tells_that_the_sources_cannot_be_listed(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, notes: Path
) -> None:
    monkeypatch.setenv("LIGHTRAG_SOURCES", str(notes / "none"))
    code, output, errors = command(capfd, monkeypatch, "status", "--json")
    facts = json.loads(output)
    check(facts, documented("status"))
    assert (code, facts["sources"], errors) == (2, {}, f"error: {facts['error']}\n")
