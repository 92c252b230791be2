import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lightrag_dagster import Filters, KnowledgeBase
from lightrag_dagster.core.text.tokens import load_tokenizer
from lightrag_dagster.query.mode import MODES
from lightrag_dagster.query.steps.context import render
from lightrag_dagster.query.steps.facts import FACT_TOKENS, facts_about, in_order
from lightrag_dagster.query.types import Keywords, Retrieval
from lightrag_dagster.stages.prompts.fencing import last_fenced
from tests.query.facts.home import CANARY

QUESTION = "Who is chief executive of Orrin Instruments?"
KEYWORDS = Keywords(("chief executive",), ("Orrin Instruments",))
WITH_FACTS = ("local", "global", "hybrid", "mix", "fusion", "ppr")


@pytest.fixture(scope="module")
def knowledge(facts_home: Path) -> Any:
    with KnowledgeBase.open(facts_home) as opened:
        yield opened


def retrieved(knowledge: KnowledgeBase, mode: Any = "fusion", **options: Any) -> Retrieval:
    return knowledge.retrieve(QUESTION, mode=mode, keywords=KEYWORDS, cosine_threshold=-1, **options)


@pytest.mark.parametrize("mode", WITH_FACTS)
def test_what_held_on_the_day_comes_first(knowledge: KnowledgeBase, mode: str) -> None:
    assert retrieved(knowledge, mode).facts[0].since == "2024"
    found = retrieved(knowledge, mode, as_of="2021-07")
    chiefs = [one.object for one in found.facts if one.relation == "chief_executive" and "Orrin" in one.subject]
    assert chiefs == ["Priya Nair", "Marta Lindqvist", f"{CANARY} Vane", "Jonas Feld", "Ada Holm"]
    assert found.facts[0].relation in {"chief_executive", "revenue", "listed", "known_since"}
    assert found.as_of == "2021-07-01"


@pytest.mark.parametrize("mode", [name for name in MODES if name not in WITH_FACTS])
def test_modes_without_entities_have_no_facts(knowledge: KnowledgeBase, mode: str) -> None:
    found = retrieved(knowledge, mode, as_of="2021-07")
    assert (found.facts, "does not use as_of" in found.notes[0]) == ((), True)
    assert "## Facts" not in render(found)


def test_the_section_says_when_and_where(knowledge: KnowledgeBase) -> None:
    found = retrieved(knowledge, as_of="2021-07")
    section = render(found).split("## ")[3]
    assert section.splitlines()[0] == (
        "Facts (`from` and `until` say when each held; those that held on 2021-07-01 come first)"
    )
    lines = [json.loads(line) for line in (last_fenced(section) or "").splitlines()]
    files = {one.reference_id: one.file for one in found.references}
    (priya,) = (one for one in lines if one.get("object") == "Priya Nair")
    assert files[priya.pop("reference_id")] == "crm/2"
    assert priya == {
        "subject": "Orrin Instruments",
        "relation": "chief_executive",
        "object": "Priya Nair",
        "from": "2021-06",
        "until": "2022-02-28",
    }
    assert all(files[one.reference_id] in {f"{at.source}/{at.path}" for at in one.citations} for one in found.facts)


def test_facts_take_their_tokens_from_relations(knowledge: KnowledgeBase) -> None:
    whole, narrow = retrieved(knowledge), retrieved(knowledge, max_relation_tokens=150, explain=True)
    assert 0 < len(narrow.facts) < len(whole.facts)
    assert len(narrow.relations) < len(whole.relations)
    (step,) = (one for one in narrow.steps if one.name == "facts")
    assert step.notes["kept"] + step.notes["cut"] >= len(whole.facts)
    assert step.notes["items"][0]["kept"]
    assert FACT_TOKENS == 1_000


def test_the_whole_prompt_fits_with_the_documents_of_facts(knowledge: KnowledgeBase) -> None:
    count = load_tokenizer(knowledge.settings.chunking.encoding).count
    least = count(knowledge.prompt(QUESTION, max_total_tokens=1_000))
    for most in range(least, least + 400, 50):
        assert count(knowledge.prompt(QUESTION, max_total_tokens=most)) <= most


def test_facts_of_the_first_entities_come_in_turn(knowledge: KnowledgeBase) -> None:
    facts, graph = knowledge.snapshot.facts, knowledge.snapshot.graph
    assert facts is not None
    names = [graph.name_of(row) for row in range(len(graph.entities.ids))]
    orrin, halden = names.index("Orrin Instruments"), names.index("Halden Weir")
    rows = facts_about(facts, np.array([orrin, halden]), None)
    of_orrin, of_halden = facts.of_entity.of(orrin).tolist(), facts.of_entity.of(halden).tolist()
    assert rows.tolist()[:5] == [of_orrin[0], of_orrin[1], of_halden[0], of_orrin[2], of_halden[1]]
    assert sorted(rows.tolist()) == sorted({*of_orrin, *of_halden})
    days = facts.days[rows[in_order(facts, rows, None)]].tolist()
    assert days == sorted(days, reverse=True)


@pytest.mark.long
def test_json_has_them(knowledge: KnowledgeBase) -> None:
    told = json.loads(json.dumps(retrieved(knowledge, filters=Filters("crm")).to_dict()))
    assert told["facts"][0]["citations"][0]["source"] == "crm"


def test_a_snapshot_without_facts_has_no_section_and_says_that_a_day_does_nothing(published_home: Path) -> None:
    with KnowledgeBase.open(published_home) as knowledge:
        found = knowledge.retrieve("Who leads the office?", mode="fusion", as_of="2021")
        assert found.notes == (
            "the snapshot has no facts, so that as_of does nothing; docs/facts.md has how they are read",
        )
        plain = knowledge.context("Who leads the office?", mode="fusion")
        assert (render(found), "## Facts" in plain) == (plain, False)
