"""A filter makes of a curated snapshot what a build of the allowed documents with the same decisions would be.

Except that texts of people are hidden unless allowed documents have them, or the decision names allowed sources alone.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from lightrag_dagster import Filters, KnowledgeBase
from lightrag_dagster.core.identity import entity_id
from lightrag_dagster.curation.desk.taking import take
from lightrag_dagster.curation.rules.decisions import Decision
from lightrag_dagster.query.filters.view import filtered
from lightrag_dagster.query.snapshot import open_snapshot
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.storage.home import Home
from tests.query.filters.test_view import held
from tests.query.published import SOURCES, publish_sources

# Every name and type in them is one that both sources have.
OF_BOTH = [
    Decision(action="merge", names=("Priya Nair", "Jonas Feld"), into="Jonas Feld"),
    Decision(action="retype", names=("Orrin Instruments",), type="person"),
    Decision(action="remove", names=("Station 14",)),
    Decision(action="remove", names=("Orrin Instruments", "Jonas Feld")),
    Decision(action="split", names=("Orrin Instruments",), into="Jonas Feld", paths=("weir.*", "bergen/*")),
]
CANARY = "xanthic"
HIDDEN = [
    Decision(action="rename", names=("Jonas Feld",), into=f"{CANARY} Feld", reason=f"{CANARY} r", author=f"{CANARY} a"),
    Decision(action="merge", names=("Priya Nair", "Marta Lindqvist"), into=f"{CANARY} Nair"),
    Decision(action="describe", names=("Bergen",), text=f"A {CANARY} town.", reason=f"{CANARY} reason"),
    Decision(action="describe", names=("Orrin Instruments", "Bergen"), text=f"A {CANARY} office."),
    Decision(action="retype", names=("Station 14",), type=f"{CANARY} type"),
    Decision(action="split", names=("Orrin Instruments",), into=f"{CANARY} Orrin", types=("organization",)),
    Decision(action="add", names=(f"{CANARY} thing",), type=f"{CANARY} kind", text=f"{CANARY} text"),
    Decision(action="add", names=("Bergen", "Jonas Feld"), keywords=f"{CANARY} keyword", text=f"{CANARY} fact"),
]


def published_with(folder: Path, decisions: list[Decision], *sources: str) -> Settings:
    settings = load_settings(home=folder / "home", sources=folder / "sources")
    take(settings, decisions)
    publish_sources(settings, {name: SOURCES[name] for name in sources})
    return settings


@pytest.mark.long
def test_a_source_alone_is_as_if_it_had_been_built_alone_with_the_same_decisions(tmp_path: Path) -> None:
    together = published_with(tmp_path / "together", OF_BOTH, *SOURCES)
    alone = published_with(tmp_path / "alone", OF_BOTH, "office")
    expected = held(open_snapshot(Home(alone.home), None))
    assert len(expected["entities"]) == 2
    assert held(filtered(open_snapshot(Home(together.home), None), Filters(sources="office"))) == expected


@pytest.fixture(scope="module")
def hiding(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return published_with(tmp_path_factory.mktemp("hiding"), HIDDEN, *SOURCES)


def everything_shown(knowledge: KnowledgeBase, **how: Any) -> str:
    texts = []
    for mode in ("naive", "local", "global", "hybrid", "mix", "fusion", "ppr", "bm25"):
        found = knowledge.retrieve("Who leads the office in Bergen?", mode=mode, cosine_threshold=-1, **how)
        texts += [json.dumps(found.to_dict()), knowledge.context("Who is at Station 14?", mode=mode, **how)]
    return "".join(texts)


@pytest.mark.parametrize(
    "filters",
    [
        Filters(sources="office"),
        pytest.param(Filters(sources=["archive", "office"]), marks=pytest.mark.long),
        pytest.param(Filters(paths="*.md"), marks=pytest.mark.long),
    ],
)
def test_no_text_of_a_decision_passes_a_filter(hiding: Settings, filters: Filters) -> None:
    with KnowledgeBase.open(hiding.home) as knowledge:
        assert CANARY in everything_shown(knowledge), "unfiltered, it is shown"
        if filters.paths:
            filters = Filters(sources=["archive", "office"], paths=filters.paths)
        assert CANARY not in everything_shown(knowledge, filters=filters)
        shown = held(filtered(open_snapshot(Home(hiding.home), None), filters))
    assert CANARY not in json.dumps({kind: str(rows) for kind, rows in shown.items()})
    assert entity_id(f"{CANARY} Feld") in shown["entities"], "the decision acts"


@pytest.mark.long
def test_a_text_is_shown_under_a_filter_that_allows_every_source_it_names(tmp_path: Path) -> None:
    decisions = [
        Decision(action="describe", names=("Bergen",), text="A town.", sources=("office",)),
        Decision(action="describe", names=("Halden Weir",), text="A weir.", sources=("archive", "office")),
        Decision(action="rename", names=("Jonas Feld",), into="J. Feld", sources=("archive",)),
    ]
    settings = published_with(tmp_path, decisions, *SOURCES)
    whole = open_snapshot(Home(settings.home), None)

    def shown(filters: Filters) -> dict[str, str]:
        rows = held(filtered(whole, filters))["entities"].values()
        return {row["name"]: row["description"] for row in rows}

    office, archive = shown(Filters(sources="office")), shown(Filters(sources="archive"))
    assert office["Bergen"] == "A town."
    assert "Jonas Feld" in office
    assert "J. Feld" in archive
    assert archive["Halden Weir"] != "A weir."
    assert shown(Filters(sources=["office", "archive"]))["Halden Weir"] == "A weir."
    assert shown(Filters(sources="office", paths="bergen/*"))["Bergen"] != "A town.", "a part of the source is not all"
