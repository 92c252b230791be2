"""Under a filter by source nothing is shown of other sources, nor of decisions that were not taken from allowed ones.

Every name, path and text of a source has a word of that source, and every text of a decision one of that decision.
"""

import json
import random
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, combinations, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.testing import CliRunner

from lightrag_dagster import Filters, KnowledgeBase
from lightrag_dagster.cli.app import app
from lightrag_dagster.core.identity import text_digest
from lightrag_dagster.curation.desk.taking import take
from lightrag_dagster.curation.rules.decisions import ACTIONS, Decision
from lightrag_dagster.errors import DecisionError, QueryError
from lightrag_dagster.query.mode import MODES
from lightrag_dagster.settings import Settings, load_settings
from tests.query.published import publish_sources

SOURCES = ("archive", "notes", "office")
FIRST = ("Marta", "Jonas", "Priya", "Helena")
SUBSETS = list(chain.from_iterable(combinations((*SOURCES, "curation"), size) for size in range(1, 5)))
WAYS: tuple[list[str], ...] = ([], ["--json"], ["--only-context"])
PARTS = (*FIRST, "Jonas Feld", "Bergen", "Instruments", "kind", "of")
COMMANDS = (
    ["find", "Marta"],
    ["entity", "Bergen"],
    ["entity", "Jonas"],
    ["neighbours", "Bergen", "--hops", "3"],
    ["path", "Bergen", "Jonas Feld", "--limit", "9"],
)
QUESTION = "Who leads the office in Bergen, and who repaired the gauge?"


class Home(NamedTuple):
    """A published home, the decisions in it, and each word that must be hidden, with what shows it."""

    settings: Settings
    decisions: list[Decision]
    words: dict[str, frozenset[str] | None]
    """Word → the sources of which all must be allowed for it to be shown; None if no filter shows it."""


def word_of(source: str) -> str:
    return f"q{source}x"


def documents(chance: random.Random) -> dict[str, dict[str, str]]:
    """Return source → path → text; all names are of one source, except some that all have."""
    found: dict[str, dict[str, str]] = {}
    for source in SOURCES:
        word = word_of(source).title()
        own = [f"{first} {word}" for first in FIRST]
        texts = [
            f"{chance.choice(own)} maintains the {word} gauge in Bergen for {chance.choice(own)}.",
            f"{chance.choice(own)} met Jonas Feld in Bergen. {chance.choice(own)} leads the office in {word} Bay.",
            f"Jonas Feld repaired the gauge. {own[0]} and {own[1]} work at {word} Instruments in Bergen.",
        ]
        found[source] = {f"{word.lower()}-{number}.md": text for number, text in enumerate(texts)}
    return found


def names(sources: Sequence[str] = SOURCES) -> list[str]:
    own = [f"{first} {word_of(source).title()}" for source in sources for first in FIRST]
    return [*own, *(f"{word_of(source).title()} Instruments" for source in sources), "Jonas Feld", "Bergen"]


def decided(chance: random.Random) -> Iterator[tuple[Decision, str | None]]:
    """Yield random decisions, of which some contradict others, with the word in the texts of each."""
    for number in range(30):
        action, word = chance.choice(ACTIONS), f"zz{number}x"
        one, other = chance.sample(names(), 2)
        sources = tuple(chance.sample(SOURCES, chance.randint(0, 2)))
        text = f"{word} of {chance.choice(names(sources or SOURCES) if action != 'add' else FIRST)}"
        values: dict[str, dict[str, object]] = {
            "merge": {"names": (one, other)} | ({"into": text, "sources": sources} if chance.random() < 0.7 else {}),
            "apart": {"names": (one, other)},
            "rename": {"names": (one,), "into": text, "sources": sources},
            "retype": {"names": (one,), "type": f"{word} kind", "sources": sources},
            "describe": {"names": (one, other)[: chance.randint(1, 2)], "text": text, "sources": sources},
            "remove": {"names": (one, other)[: chance.randint(1, 2)]},
            "split": {"names": (one,), "into": text, "paths": (f"*-{chance.randint(0, 2)}.md",)},
            "add": {"names": (text,), "type": f"{word} kind", "text": text},
        }
        told = {"reason": f"{word}r of {other}", "author": f"{word}r {other}"}
        yield Decision.model_validate({"action": action} | values[action] | told), word


def make(folder: Path, seed: int) -> Home:
    chance = random.Random(seed)
    settings = load_settings(home=folder / "home", sources=folder / "sources")
    taken, words = list[Decision](), dict[str, frozenset[str] | None]()
    for decision, word in decided(chance):
        with suppress(DecisionError):
            take(settings, [decision])
            taken.append(decision)
            shown = {"curation"} if decision.action == "add" else set(decision.sources)
            shown = set() if decision.action == "split" else shown
            words[f"{word} "] = frozenset(shown) or None
            words[f"{word}r"] = None
    publish_sources(settings, documents(chance))
    return Home(settings, taken, words | {word_of(source): frozenset({source}) for source in SOURCES})


def shown(knowledge: KnowledgeBase, filters: Filters, modes: Collection[str]) -> str:
    """Return all that a person or program sees under a filter, in small letters."""
    found = list[str]()
    for mode in modes:
        how: dict[str, Any] = {"mode": mode, "filters": filters, "cosine_threshold": -1.0, "explain": True}
        retrieval = knowledge.retrieve(QUESTION, **how)
        found += [json.dumps(retrieval.to_dict()), str(retrieval), repr(retrieval), knowledge.context(QUESTION, **how)]
        found += [knowledge.prompt(QUESTION, **how), str(knowledge.query(QUESTION, **how).to_dict())]
        found.append(str(knowledge.keywords(QUESTION, **how)))
    return "\n".join([*found, *of_graph(knowledge, filters)]).lower()


def of_graph(knowledge: KnowledgeBase, filters: Filters) -> Iterator[str]:
    """Yield all that the graph says under a filter to one who knows no hidden word."""
    known: dict[str, None] = {}
    for part in PARTS:
        choice = knowledge.find(part, filters=filters, limit=100)
        known |= dict.fromkeys(one.entity_id for one in choice.matches)
        yield json.dumps(choice.to_dict())
        with suppress_refusal() as refused:
            yield repr(knowledge.entity(part, filters=filters))
        yield "".join(refused)
    for one in known:
        yield json.dumps(knowledge.entity(one, filters=filters, limit=100).to_dict())
    for one, other in pairwise(list(known)[:4]):
        yield json.dumps(knowledge.neighbours(one, 3, filters=filters, limit=100).to_dict())
        yield json.dumps(knowledge.path(one, other, filters=filters, limit=5).to_dict())


@contextmanager
def suppress_refusal() -> Iterator[list[str]]:
    """Collect what an error in the block says."""
    said = list[str]()
    try:
        yield said
    except QueryError as error:
        said.append(str(error))


def matched(knowledge: KnowledgeBase, filters: Filters, words: Sequence[str]) -> list[str]:
    """Return those of some words for which an entity is found by them, or with them in a name."""
    found = []
    for number, word in enumerate(map(str.strip, words)):
        names = [f"{one.name} {one.matched}".lower() for one in knowledge.find(word, filters=filters).matches]
        found += [word for one in names if word in one]
        if number % 9 == 0:
            with suppress_refusal() as refused:
                knowledge.entity(f"{word} Instruments", filters=filters)
            found += [word for said in refused if said.lower().count(word) > 1]
    return found


def hidden(home: Home, allowed: Sequence[str]) -> list[str]:
    return [word for word, sources in home.words.items() if sources is None or not sources <= set(allowed)]


def check(home: Home, modes: Collection[str], subsets: Sequence[tuple[str, ...]], *, by_command: bool) -> None:
    with KnowledgeBase.open(settings=home.settings) as knowledge:
        whole = shown(knowledge, Filters(), modes)
        assert all(word_of(source) in whole for source in SOURCES)
        assert any(word in whole for word in home.words if word.startswith("zz"))
        for allowed in subsets:
            text = shown(knowledge, Filters(sources=allowed), modes)
            assert [word for word in hidden(home, allowed) if word in text] == [], (allowed, home.decisions)
            few = sorted(hidden(home, allowed), key=lambda word: (word[:1] != "q", text_digest(f"{word}{allowed}")))[
                :12
            ]
            assert matched(knowledge, Filters(sources=allowed), few) == [], (allowed, home.decisions)
            if by_command:
                chosen = [part for source in allowed for part in ("--source", source)]
                how = WAYS[len(chosen) % len(WAYS)]
                for command in (["query", QUESTION, *how], COMMANDS[len(text) % len(COMMANDS)]):
                    result = CliRunner().invoke(app, [*command, *chosen])
                    assert result.exit_code == 0 or command[0] != "query", result.output
                    said = " ".join(result.output.lower().split())
                    assert [word for word in hidden(home, allowed) if word in said] == [], (allowed, command)


@pytest.mark.long
def test_no_word_of_a_hidden_source_or_decision_is_shown(tmp_path: Path) -> None:
    home = make(tmp_path, 0)
    assert len(home.decisions) > 10
    check(home, ["mix"], [("archive",), ("notes", "office")], by_command=False)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
def test_no_word_is_shown_in_any_mode_by_any_method_or_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    home = make(tmp_path, seed)
    monkeypatch.setenv("LIGHTRAG_HOME", str(home.settings.home))
    monkeypatch.setenv("LIGHTRAG_SOURCES", str(home.settings.sources))
    check(home, [mode for mode in MODES if mode != "bypass"], SUBSETS, by_command=True)
