"""No filter lets anything through: a secret word of one source shows up nowhere in a question to another."""

import json
import tempfile
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lightrag_dagster import Filters, Keywords, KnowledgeBase
from lightrag_dagster.query.mode import ModeName
from lightrag_dagster.settings import load_settings
from tests.query.published import publish_sources

SECRET = "Quixolume"
KEYWORDS = Keywords(("repair", "flood"), ("Halden Weir", "Marta Lindqvist", "Orrin Instruments", "Station 14"))

OPEN = st.lists(
    st.sampled_from(
        [
            "Marta Lindqvist maintains the gauge at Halden Weir.",
            "Orrin Instruments built the gauge of Station 14.",
            "Jonas Feld of Orrin Instruments visited Halden Weir.",
            "Priya Nair repaired Station 14 with Marta Lindqvist.",
        ]
    ),
    min_size=1,
    max_size=4,
    unique=True,
)
HIDDEN = st.lists(
    st.sampled_from(
        [
            f"{SECRET} owns Halden Weir.",
            f"Marta Lindqvist founded {SECRET} Holdings in Bergen.",
            f"Halden Weir was sold for a {SECRET.lower()} in March.",
            f"HALDEN WEIR and HALDEN WEIR and {SECRET.upper()} are one.",
            f"# {SECRET}\n\nJonas Feld works at Station 14 for Orrin Instruments.",
            "Marta Lindqvist maintains the gauge at Halden Weir.",
        ]
    ),
    min_size=1,
    max_size=5,
    unique=True,
)


def _check(shown: list[str], hidden: list[str], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        configured = load_settings(home=Path(folder) / "home", sources=Path(folder) / "sources")
        sources = {
            "open": {f"{number}.md": text for number, text in enumerate(shown)},
            "hidden": {f"{SECRET}/{number}.md": text for number, text in enumerate(hidden)},
        }
        publish_sources(configured, sources)
        with KnowledgeBase.open(settings=configured) as knowledge:
            # A base costs more than its questions, so each is asked in two modes.
            modes = st.lists(
                st.sampled_from(sorted({*get_args(ModeName)} - {"bypass"})), min_size=2, max_size=2, unique=True
            )
            for mode in data.draw(modes):
                _ask(knowledge, mode, hidden, data)


def _ask(knowledge: KnowledgeBase, mode: ModeName, hidden: list[str], data: st.DataObject) -> None:
    keywords = data.draw(st.sampled_from([KEYWORDS, None]))
    filters = data.draw(
        st.sampled_from([Filters(sources="open"), Filters(paths=[f"{number}.md" for number in range(4)])])
    )

    def everything(scope: Filters) -> str:
        question = "Who maintains Halden Weir, and who repaired Station 14 with Marta Lindqvist?"
        answer = knowledge.query(
            question, mode=mode, keywords=keywords, filters=scope, explain=True, cosine_threshold=-1
        )
        prompt = knowledge.prompt(
            question, mode=mode, keywords=keywords, filters=scope, explain=True, cosine_threshold=-1
        )
        return json.dumps(answer.to_dict(), default=str) + prompt

    bounded = everything(filters)
    assert SECRET.casefold() not in bounded.casefold()
    assert "HALDEN WEIR" not in bounded
    assert "Halden Weir" in bounded
    if mode in ("naive", "mix") and any(SECRET.casefold() in text.casefold() for text in hidden):
        assert SECRET.casefold() in everything(Filters()).casefold()


BOUNDS: dict[str, Any] = {"deadline": None, "suppress_health_check": list(HealthCheck)}


@pytest.mark.filterwarnings("ignore::hypothesis.errors.NonInteractiveExampleWarning")
@settings(max_examples=1, **BOUNDS)
@given(shown=OPEN, hidden=HIDDEN, data=st.data())
def test_a_secret_stays_in_its_source(shown: list[str], hidden: list[str], data: st.DataObject) -> None:
    _check(shown, hidden, data)


@pytest.mark.long
def test_the_spelling_of_another_source_shows_nowhere(tmp_path: Path) -> None:
    configured = load_settings(home=tmp_path / "home", sources=tmp_path / "sources")
    hidden = {"0.md": "HALDEN WEIR and HALDEN WEIR and ORRIN HOUSE are one."}
    shown = {"0.md": "Jonas Feld of Orrin Instruments visited Halden Weir."}
    publish_sources(configured, {"open": shown, "hidden": hidden})
    with KnowledgeBase.open(settings=configured) as knowledge:

        def explained(mode: ModeName, scope: Filters) -> str:
            question = "Who visited Halden Weir?"
            return json.dumps(
                knowledge.retrieve(question, mode=mode, filters=scope, explain=True).to_dict(), default=str
            )

        assert "HALDEN WEIR" in explained("ppr", Filters())
        for mode in sorted({*get_args(ModeName)} - {"bypass"}):
            assert "HALDEN WEIR" not in explained(mode, Filters(sources="open"))


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::hypothesis.errors.NonInteractiveExampleWarning")
@settings(max_examples=50, **BOUNDS)
@given(shown=OPEN, hidden=HIDDEN, data=st.data())
def test_a_secret_stays_in_its_source_often(shown: list[str], hidden: list[str], data: st.DataObject) -> None:
    _check(shown, hidden, data)
