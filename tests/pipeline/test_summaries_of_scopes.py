"""The summaries of a scope: those that failed, and those that an older prompt made."""

from pathlib import Path

import pytest

from lightrag_dagster.assets.knowledge_base import scope_published
from lightrag_dagster.pipeline.inputs import Outdated, outdated
from lightrag_dagster.pipeline.pending import pending
from lightrag_dagster.pipeline.scopes import pending_scopes
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.plan.estimates import Estimate
from lightrag_dagster.plan.plan import make_plan
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.settings import Settings
from tests.loopback import Loopback, Received, Reply
from tests.models.models import role_of
from tests.pipeline.test_generation import BRIEF, FILES, answer, settings_in
from tests.support import RIVER, build, published, run, write_source

PARTNERS = {"partners": {"paths": ("flood.txt", "office.txt", "more.txt")}}


def asked(server: Loopback) -> int:
    """Return the number of summaries that were asked for, and begin again."""
    roles = [role_of(one.body) for one in server.requests if "messages" in one.body]
    server.requests.clear()
    return roles.count("summarise")


def fails(received: Received) -> Reply | None:
    return Reply.error(400) if "messages" in received.body and role_of(received.body) == "summarise" else None


def of_partners(settings: Settings) -> Outdated:
    return outdated(Situation.looking(settings.within("partners")))


@pytest.mark.long
@pytest.mark.parametrize("home_too", [False, True])
def test_summaries_that_failed_for_a_scope_are_asked_again(tmp_path: Path, loopback: Loopback, home_too: bool) -> None:
    loopback.chat = answer
    whole = settings_in(tmp_path, summarised=2)
    scoped = whole.changed(scopes=PARTNERS)
    write_source(whole, "notes", FILES["notes"])
    if not home_too:
        build(whole)
    loopback.fault = fails
    build(scoped)
    loopback.fault = lambda one: None
    failed = of_partners(scoped).failed
    assert (failed > 0, outdated(Situation.looking(scoped)).failed > 0) == (True, home_too)
    said = f"scope partners: {failed} summaries failed, so that the descriptions of these entities and relations are "
    now = Situation.looking(scoped)
    assert [one for one in pending(now).warnings if one.startswith(said)]
    assert said.partition(": ")[2] in str(scope_published("partners")(LightRAG(scoped)).description)
    assert pending_scopes(now) == {}
    assert list(pending_scopes(now, backfill=True)) == ["partners"]
    asked(loopback)
    plan = make_plan(scoped, None, backfill=True, knowledge_base=True)
    calls = [one.calls.expected for name, one in plan.steps.items() if name == "scope partners" and one.calls]
    run(scoped)
    assert asked(loopback) == 0
    before = published(scoped)
    run(scoped, backfill=True)
    made = asked(loopback)
    assert made >= failed
    assert of_partners(scoped) == outdated(Situation.looking(scoped)) == Outdated()
    assert (published(scoped) == before) is not home_too
    assert calls
    assert not pending(Situation.looking(scoped)).warnings
    assert pending_scopes(Situation.looking(scoped), backfill=True) == {}


@pytest.mark.long
def test_a_plan_counts_no_summary_that_a_scope_keeps(tmp_path: Path, loopback: Loopback) -> None:
    loopback.chat = answer
    (tmp_path / "brief").mkdir()
    (tmp_path / "brief" / "summary_system.md").write_text(f"{BRIEF} in $language, at most $max_tokens tokens.")
    scoped = settings_in(tmp_path, summarised=2).changed(scopes=PARTNERS)
    write_source(scoped, "notes", FILES["notes"])
    build(scoped)
    edited = settings_in(tmp_path, summarised=2, brief=True).changed(scopes=PARTNERS)
    old = of_partners(edited).summaries
    write_source(edited, "notes", FILES["notes"] | {"more.txt": RIVER})  # which was asked about, and is hidden so far
    plan = make_plan(edited)
    asked(loopback)
    build(edited)
    made, kept = asked(loopback), of_partners(edited).summaries
    assert 0 < kept < old
    assert made > 0
    assert plan.steps["scope partners"].calls == Estimate.exactly(made + 1)  # and one of the embedder
