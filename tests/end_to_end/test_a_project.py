"""A company's Dagster project with two knowledge bases: a night, a backfill, a failure and a recovery.

The project is made by Dagster's own commands, has packages `assets` and `resources` and an executor of its own, this
package as a wheel, and an instance of the older kind.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.snapshots import published_snapshot
from tests.assets.test_daemon import until
from tests.chat import Chat, serving_chat
from tests.end_to_end.company import Company, Served
from tests.loopback import Answer, Loopback, Reply
from tests.models.models import offline_answer, role_of
from tests.support import FLOOD, OFFICE, RIVER

DAY = "2026-01-02"
BEACON = "entity<|#|>Halden Light<|#|>Beacon<|#|>A light at Halden Weir."
UI = "https://dagster.example"
BRIEFING = """
{ assetNodeOrError(assetKey: {path: ["briefing"]}) { ... on AssetNode { assetMaterializations(limit: 5) {
    partition metadataEntries { label ... on MarkdownMetadataEntry { mdStr } ... on TextMetadataEntry { text } } } } } }
"""
LIMITS = "{ instance { concurrencyLimits { concurrencyKey limit } } }"
POOLS = {"contracts_llm", "contracts_writer", "manuals_llm", "manuals_writer"}


def answer(body: dict[str, Any]) -> Answer:
    """Answer by the offline rules, and find a beacon when the prompt asks for some."""
    text = offline_answer(body)
    if role_of(body) == "extract" and "- Beacon:" in json.dumps(body["messages"]):
        text = f"{BEACON}\n{text}"
    return Answer(text, usage={"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100})


@pytest.fixture
def chat() -> Iterator[Chat]:
    with serving_chat() as server:
        yield server


@pytest.fixture
def company(tmp_path: Path, loopback: Loopback, chat: Chat) -> Company:
    """The project with two knowledge bases: contracts are read by a model, manuals by the offline rules."""
    loopback.chat = answer
    variables = {"LIGHTRAG_FAILURE_WEBHOOK": chat.url, "LIGHTRAG_DAGSTER_URL": UI, "LIGHTRAG_ENVIRONMENT": "test"}
    company = Company(tmp_path, variables)
    (company.root / "prompts").mkdir()
    company.add(
        "contracts",
        "llm: {provider: openai, model: gpt-4o-mini, max_retries: 0}",
        "extraction: {gleaning: 0}",
        f"prompts: {json.dumps(str(company.root / 'prompts'))}",
        "nightly: '* * * * *'",
    )
    company.add("manuals", "nightly: '* * * * *'")
    company.write("contracts/leases/office.md", OFFICE)
    company.write("contracts/letters/river.md", RIVER)
    company.write("manuals/gauges/flood.md", FLOOD)
    return company


@pytest.mark.long
def test_a_project_with_two_knowledge_bases(company: Company, loopback: Loopback, chat: Chat) -> None:
    it_loads_beside_the_projects_own(company)
    with company.serving() as served:
        until(lambda: served.ask("{ version }"), "the web server does not answer")
        a_night_publishes_both(company, served)
        a_day_of_the_projects_own_asset_asks_one(company, served)
        a_prompt_backfill_changes_one_alone(company, served)
        assert chat.messages == []
        a_failure_and_its_end_are_told_once(company, served, loopback, chat)
        runs_say_what_they_are(served)


def it_loads_beside_the_projects_own(company: Company) -> None:
    place = company.run("python", "-c", "import lightrag_dagster as one; print(one.__file__)")
    assert place.startswith(str(company.root.parent / "venv"))
    company.run("dg", "check", "defs")
    listed = json.loads(company.run("dg", "list", "defs", "--json"))
    keys = {asset["asset_key"] for asset in listed["assets"]}
    assert {"briefing", "contracts/knowledge_base", "manuals/knowledge_base"} <= keys
    jobs = {job["name"] for job in listed["jobs"]}
    assert {"contracts_ingest", "contracts_backfill", "manuals_ingest"} <= jobs
    for pool in POOLS:
        company.run("dagster", "instance", "concurrency", "set", pool, "1")


def a_night_publishes_both(company: Company, served: Served) -> None:
    for name in ("contracts", "manuals"):
        served.start(f"{name}_nightly")
    until(lambda: snapshot(company, "contracts") and snapshot(company, "manuals"), "not both were published")
    until(lambda: sources(company, "contracts") == {"leases", "letters"}, "a source of contracts is missing")
    assert sources(company, "manuals") == {"gauges"}
    limits = {limit["concurrencyKey"]: limit["limit"] for limit in served.ask(LIMITS)["concurrencyLimits"]}
    assert limits == dict.fromkeys(POOLS, 1)


def a_day_of_the_projects_own_asset_asks_one(company: Company, served: Served) -> None:
    company.run("dg", "launch", "--assets", "briefing", "--partition", DAY)
    (made,) = served.ask(BRIEFING)["assetMaterializations"]
    said = {entry["label"]: entry.get("mdStr") or entry.get("text") for entry in made["metadataEntries"]}
    assert made["partition"] == DAY
    assert "opened an office in Bergen" in said["answer"]
    assert said["snapshot"] == snapshot(company, "contracts")


def a_prompt_backfill_changes_one_alone(company: Company, served: Served) -> None:
    before, others = snapshot(company, "contracts"), snapshot(company, "manuals")
    (company.root / "prompts" / "entity_types.md").write_text("- Beacon: a light that guides\n- Other: all else\n")
    assert "Halden Light" not in names(company)
    backfill = ["dagster", "job", "backfill", "-w", "workspace.yaml", "--noprompt", "-j", "contracts_backfill"]
    company.run(*backfill, "--partitions", "leases,letters")
    until(lambda: "Halden Light" in names(company), "the backfill was not published")
    until(lambda: not unfinished(served), "runs do not end")
    assert snapshot(company, "contracts") != before
    assert snapshot(company, "manuals") == others


def a_failure_and_its_end_are_told_once(company: Company, served: Served, loopback: Loopback, chat: Chat) -> None:
    before = snapshot(company, "contracts")
    loopback.fault = lambda received: Reply.error(401, "invalid_api_key", "wrong key")
    company.write("contracts/letters/flood.md", FLOOD)
    until(lambda: chat.messages, "nobody was told of the failure")
    served.launch("contracts_ingest", "letters")
    failures = company.home("contracts") / "failures.jsonl"
    until(lambda: len(failures.read_text().splitlines()) > 1, "the second failure was not recorded")
    (told,) = chat.messages
    assert snapshot(company, "contracts") == before

    loopback.fault = lambda received: None
    served.launch("contracts_ingest", "letters")
    until(lambda: len(chat.messages) > 1, "nobody was told of the recovery")
    until(lambda: snapshot(company, "contracts") != before, "the new letter was not published")
    _, mended = chat.messages
    assert told["text"].startswith("contracts (test): ingest of source letters failed: ")
    assert "check OPENAI_API_KEY" in told["text"]
    assert mended["text"].startswith("contracts (test): ingest of source letters works again")
    for message in (told, mended):
        assert message["url"] == f"{UI}/runs/{message['run_id']}"
        assert message["text"].endswith(message["url"])
        told_of = (message["places"], message["sources"], message["environment"])
        assert told_of == (["contracts"], ["letters"], "test")


def runs_say_what_they_are(served: Served) -> None:
    until(lambda: not unfinished(served), "runs do not end")
    runs = served.runs()
    commands = {(run["jobName"], run["tags"].get("lightrag/command")) for run in runs}
    assert commands == {
        *((f"{name}_{job}", said) for name in ("contracts", "manuals") for job, said in AUTOMATIC),
        ("contracts_backfill", None),
        ("contracts_ingest", None),
        ("__ASSET_JOB", None),
    }
    paid = {run["jobName"] for run in runs if run["tags"].get("lightrag/cost", "").startswith("$")}
    assert paid == {"contracts_ingest", "contracts_backfill"}


AUTOMATIC = (("ingest", "nightly"), ("publish", "publish"))
"""The runs that the daemon asks for: job, and what the tag says."""


def snapshot(company: Company, name: str) -> str | None:
    """Return the id of the snapshot that a knowledge base has published."""
    manifest = published_snapshot(Home(company.home(name)))
    return manifest.snapshot_id if manifest else None


def sources(company: Company, name: str) -> set[str]:
    """Return the sources that the snapshot holds."""
    manifest = published_snapshot(Home(company.home(name)))
    return set(manifest.inputs.sources) if manifest else set()


def names(company: Company) -> set[str]:
    """Return the names of the entities of the contracts."""
    with KnowledgeBase.open(settings=load_settings(home=company.home("contracts"))) as knowledge_base:
        return set(knowledge_base.sql("SELECT name FROM entities")["name"].to_pylist())


def unfinished(served: Served) -> list[dict[str, Any]]:
    return [run for run in served.runs() if run["status"] not in ("SUCCESS", "FAILURE", "CANCELED")]
