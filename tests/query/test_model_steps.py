"""Steps of retrieval that ask a language model: read by literal tables, then asked of a server on 127.0.0.1."""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from lightrag_dagster import KnowledgeBase, Retrieval
from lightrag_dagster.errors import SettingsError
from lightrag_dagster.query.ask import parse_numbers
from lightrag_dagster.query.hits import Found
from lightrag_dagster.query.question import QueryOptions
from lightrag_dagster.query.steps.decompose import fuse, parse_next
from lightrag_dagster.query.steps.relation_filter import relation_lines
from lightrag_dagster.query.types import Relation
from lightrag_dagster.settings import load_settings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.stages.prompts.fencing import last_fenced
from lightrag_dagster.storage.home import Home
from tests.loopback import Loopback, Reply

OFFICE = "Who leads the office of the firm that built the gauge?"

Open = Callable[..., KnowledgeBase]


@pytest.fixture
def opened(published_home: Path, tmp_path: Path, loopback: Loopback) -> Iterator[Open]:
    """Open a copy of the small snapshot, whose language model is the server; its vectors are the offline embedder's."""
    home = Path(shutil.copytree(published_home, tmp_path / "home"))
    with ExitStack() as stack:

        def open_one(account: Account | None = None, **query: object) -> KnowledgeBase:
            settings = load_settings(
                home=home, llm={"provider": "openai", "model": "gpt-4o-mini", "max_retries": 0}, query=query
            )
            return stack.enter_context(KnowledgeBase.open(settings=settings, account=account))

        yield open_one


def relations_of(body: dict[str, Any]) -> list[dict[str, Any]]:
    _, _, relations = body["messages"][-1]["content"].partition("Relations:\n\n")
    return [json.loads(line) for line in (last_fenced(relations) or "").splitlines()]


def notes(found: Retrieval, name: str) -> dict[str, Any]:
    return next(step.notes for step in found.steps if step.name == name)


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ('{"relations": [3, 1, 3]}', [2, 0]),
        ('<think>{"relations": [2]}</think>```json\n{"relations": ["1", 1, 9]}\n```', [0]),
        ('{"relations": []}', []),
        ('{"relations": [null, true, [2], "x", 1.5, "3"]}', [2]),
        ('{"relations": [0, 4]}', None),
        ('{"relations": 3}', None),
        ('{"relations": "none"}', None),
        ('{"kept": [1]}', None),
        ('{"relations": [1', None),
        ("The first relation.", None),
        ('{"relations": [null]}', None),
    ],
)
def test_the_numbers_of_relations_are_read(text: str, places: list[int] | None) -> None:
    assert parse_numbers(text, "relations", 3) == places


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ('{"next": " Who leads\\nit? "}', "Who leads it?"),
        ('Then: {"next": "Who?", "done": false}', "Who?"),
        ('{"done": true}', ""),
        ('{"next": null, "done": true}', ""),
        ('{"next": null}', None),
        ('{"next": ""}', None),
        ("done", None),
        ("{", None),
    ],
)
def test_what_to_look_up_next_is_read(text: str, question: str | None) -> None:
    assert parse_next(text) == question


def test_a_relation_is_a_line_with_the_start_of_its_description() -> None:
    one = Relation("rel-1", "ent-1", "ent-2", "Ida", "Gauge", "", "x" * 1000, 1.0, 1, None)
    first, second = map(json.loads, relation_lines([one, one]))
    assert first == {"number": 1, "entity1": "Ida", "entity2": "Gauge", "description": "x" * 300}
    assert second["number"] == 2


def test_searches_are_fused_by_turns_with_the_first_score() -> None:
    fused = fuse([Found({1: 0.9, 2: 0.1}, {}, {1: 0.5, 2: 0.4}, {"a": 1}), Found({3: 0.8}, {7: 1.0}, {3: 0.9, 1: 0.1})])
    assert list(fused.entities.items()) == [(1, 0.9), (3, 0.8)]  # no more than one search found
    assert list(fused.chunks.items()) == [(1, 0.5), (3, 0.9), (2, 0.4)]
    assert (fused.relations, fused.notes) == ({7: 1.0}, {"a": 1})


def test_fused_chunks_keep_the_paths_of_the_search_that_found_them_first() -> None:
    first = Found(chunks={1: 0.5}, paths_to=lambda chunk: [["a", str(chunk)]])
    later = Found(chunks={1: 0.9, 2: 0.4}, paths_to=lambda chunk: [["b", str(chunk)]])
    fused = fuse([first, later, Found(chunks={3: 0.1})])
    assert fused.paths_to is not None
    assert [fused.paths_to(chunk) for chunk in (1, 2, 3)] == [[["a", "1"]], [["b", "2"]], []]


@pytest.mark.parametrize("mode", ["fusion", "ppr"])
def test_the_walk_starts_at_the_relations_that_the_model_keeps(opened: Open, loopback: Loopback, mode: str) -> None:
    def keep(name: str) -> Callable[[dict[str, Any]], str]:
        return lambda body: json.dumps(
            {"relations": [one["number"] for one in relations_of(body) if name in one.values()]}
        )

    knowledge = opened(mode=mode, filter_relations=True)
    first: dict[str, str] = {}
    for name, question in (
        ("Bergen", "Which office was opened and who repaired it?"),
        ("Priya Nair", "Who repaired it and which office was opened?"),
    ):
        loopback.chat = keep(name)
        found = knowledge.retrieve(question)
        assert all(name in one for one in notes(found, "find")["relations that count"])
        assert notes(found, "find")["relations input tokens"] == 100
        first[name] = found.entities[0].name
    assert first["Bergen"] != first["Priya Nair"]
    assert len(loopback.requests) == 2


def test_a_walk_without_relations_starts_at_the_nearest_entities(opened: Open, loopback: Loopback) -> None:
    loopback.chat = lambda body: json.dumps({"relations": []})
    found = opened(mode="ppr", filter_relations=True).retrieve("Jonas Feld")
    assert notes(found, "find")["relations kept"].startswith("0 of ")
    assert found.entities[0].name == "Jonas Feld"
    assert (found.entities[0].score or 0.0) > 0.2


@pytest.mark.parametrize("mode", ["fusion", "ppr"])
@pytest.mark.parametrize("reply", ["I cannot say.", Reply.error(400)])
def test_an_unusable_answer_keeps_all_relations(
    opened: Open, loopback: Loopback, mode: str, reply: str | Reply
) -> None:
    if isinstance(reply, Reply):
        loopback.script.append(reply)
    else:
        loopback.chat = lambda body: reply
    found = opened(mode=mode).retrieve(OFFICE, filter_relations=True)
    assert found == opened(mode=mode).retrieve(OFFICE)
    assert notes(found, "find")["relations kept"] == "all"
    assert notes(found, "find")["relations error"]
    assert len(loopback.requests) == (1 if isinstance(reply, Reply) else 2)  # an answer is asked for once more


def test_a_question_is_looked_up_hop_by_hop_within_the_bound(opened: Open, loopback: Loopback) -> None:
    answers = iter(["Who repaired the sensor?", "Who leads the office in Bergen?", "Where is it?"])
    loopback.chat = lambda body: json.dumps({"next": next(answers)})
    knowledge = opened(mode="naive", hops=2, chunk_top_k=2)
    found = knowledge.retrieve(OFFICE)
    assert len(loopback.requests) == 2
    first, second = (received.body["messages"][-1]["content"] for received in loopback.requests)
    assert "Looked up so far" not in first
    assert "Who repaired the sensor?" in second
    assert len(found.chunks) == 2
    assert notes(found, "hop 2")["question"] == "Who leads the office in Bergen?"
    assert [chunk.path for chunk in found.chunks] == ["weir.md", "shared.md"]
    single = knowledge.retrieve(OFFICE, hops=0)
    assert [chunk.path for chunk in single.chunks] == ["weir.md", "bergen/notes.txt"]

    assert knowledge.retrieve(OFFICE) == found
    assert len(loopback.requests) == 2  # the second time they come from the store


@pytest.mark.parametrize("answer", ['{"done": true}', "Nothing.", json.dumps({"next": OFFICE})])
def test_what_ends_the_hops_leaves_what_was_found(opened: Open, loopback: Loopback, answer: str) -> None:
    loopback.chat = lambda body: answer
    knowledge = opened(hops=3)
    assert knowledge.retrieve(OFFICE) == knowledge.retrieve(OFFICE, hops=0)
    assert len(loopback.requests) == (2 if answer == "Nothing." else 1)


def test_a_hop_whose_call_fails_leaves_what_was_found(opened: Open, loopback: Loopback) -> None:
    keywords = json.dumps({"low_level_keywords": ["Gauge"]})
    loopback.chat = lambda body: json.dumps({"next": "Who repaired it?"}) if len(loopback.requests) == 2 else keywords
    loopback.fault = lambda received: Reply.error(503) if len(loopback.requests) == 3 else None
    knowledge = opened(mode="local", hops=2)
    found = knowledge.retrieve(OFFICE)
    assert notes(found, "hop 1")["question"] == "Who repaired it?"
    assert "503" in notes(found, "hop 1")["error"]
    assert found == knowledge.retrieve(OFFICE, hops=0)
    assert found.chunks


@pytest.mark.parametrize("mode", ["local", "global", "hybrid", "mix"])
@pytest.mark.parametrize("answer", ["I cannot say.", '{"low_level_keywords": ["Gau', '{"low_level_keywords": null}'])
def test_keywords_that_cannot_be_read_are_asked_for_once_more_and_then_noted(
    opened: Open, loopback: Loopback, mode: str, answer: str
) -> None:
    answers = iter([answer, '{"high_level_keywords": ["repair"], "low_level_keywords": ["Gauge"]}'])
    loopback.chat = lambda body: next(answers, answer)
    knowledge = opened(mode=mode)
    found = knowledge.retrieve(OFFICE)
    assert (found.keywords.low_level, found.notes, len(loopback.requests)) == (("Gauge",), (), 2)
    unread = knowledge.retrieve(f"{OFFICE} And where is it?")
    assert (unread.empty, len(loopback.requests)) == (True, 4)
    assert unread.notes == (
        f"the model named no keywords: mode {mode} finds nothing; give keywords, or ask in the mode fusion",
    )
    assert notes(unread, "keywords")["error"] == "the model's answer cannot be used"
    assert notes(unread, "keywords")["input tokens"] == 200
    brief = knowledge.retrieve("Who built the gauge?")
    assert brief.keywords.low_level == ("Who built the gauge?",)
    assert brief.notes == ("the model named no keywords: the question itself is one",)


def test_a_model_that_names_no_keywords_is_not_asked_again(opened: Open, loopback: Loopback) -> None:
    loopback.chat = lambda body: '{"high_level_keywords": [], "low_level_keywords": []}'
    found = opened(mode="mix").retrieve(OFFICE)
    assert (len(found.notes), len(loopback.requests)) == (1, 1)


def test_calls_are_booked_under_their_roles(opened: Open, loopback: Loopback, tmp_path: Path) -> None:
    loopback.chat = lambda body: json.dumps({"relations": [1], "next": "Who leads the office in Bergen?"})
    knowledge = opened(Account("run-1"), filter_relations=True, hops=1)
    knowledge.retrieve(OFFICE)
    knowledge.close()
    booked = Ledger(Home(tmp_path / "home").ledger).by_purpose()
    of_questions = booked.keys() - {"embed", "extract"}  # with which the home was built
    assert {purpose: booked[purpose].calls for purpose in of_questions} == {"relevance": 2, "hops": 1}


@pytest.mark.parametrize(("step", "options"), [("filter_relations", {"filter_relations": True}), ("hops", {"hops": 1})])
def test_without_a_model_the_steps_are_refused(published_home: Path, step: str, options: QueryOptions) -> None:
    with (
        KnowledgeBase.open(published_home) as knowledge,
        pytest.raises(SettingsError, match=rf"query\.{step} .* offline"),
    ):
        knowledge.retrieve(OFFICE, **options)
