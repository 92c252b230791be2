import json
from dataclasses import asdict
from pathlib import Path

import pytest

from lightrag_dagster import Filters, KnowledgeBase
from tests.query.facts.home import CANARY, build_home
from tests.query.filters.test_curated import everything_shown

ALLOWED = [
    Filters(sources=["crm", "notes"]),
    Filters(paths=[*"012345678", "a.md"]),
    Filters("crm", dated_until="2021-12-31"),
]


def all_of_facts(knowledge: KnowledgeBase, filters: Filters) -> str:
    shown = [json.dumps(knowledge.facts(filters=filters, limit=1_000).to_dict())]
    for by in ("relation", "subject", "object", "type", "value", "year"):
        shown.append(json.dumps(knowledge.count(filters=filters, by=by).to_dict()))
    shown.append(json.dumps(knowledge.facts(filters=filters, contradicted=True).to_dict()))
    day = knowledge.facts("Orrin Instruments", as_of="2023", filters=filters)
    return "".join([*shown, json.dumps(day.to_dict()), everything_shown(knowledge, filters=filters, as_of="2023")])


@pytest.mark.long
@pytest.mark.parametrize("filters", ALLOWED[:2])
def test_nothing_of_other_documents_is_in_facts(facts_home: Path, filters: Filters) -> None:
    with KnowledgeBase.open(facts_home) as knowledge:
        whole, seen = all_of_facts(knowledge, Filters()), all_of_facts(knowledge, filters)
    for leak in (CANARY, "97310044", "2022-03", "2022-02-28", "secret"):
        assert leak in whole
        assert leak not in seen, leak


@pytest.mark.long  # test_view.py has the graph's
def test_a_source_alone_is_as_if_it_had_been_built_alone(facts_home: Path, tmp_path: Path) -> None:
    alone = build_home(tmp_path, ["crm"]).home
    with KnowledgeBase.open(facts_home) as together, KnowledgeBase.open(alone) as expected:
        for filters in (Filters(sources=["crm", "notes"]), Filters("crm")):
            for day in (None, "2021-07", "2023"):
                found = together.facts(filters=filters, limit=1_000, as_of=day)
                assert [asdict(one) for one in found] == [asdict(one) for one in expected.facts(limit=1_000, as_of=day)]
            assert together.count(by="object", filters=filters).counts == expected.count(by="object").counts


def test_a_filter_without_facts_finds_none(facts_home: Path) -> None:
    with KnowledgeBase.open(facts_home) as knowledge:
        notes = Filters("notes")
        assert len(knowledge.facts(filters=notes)) == knowledge.count(filters=notes, by="relation").total == 0
        assert knowledge.retrieve("Who leads Orrin Instruments?", mode="fusion", filters=notes).facts == ()
