"""Questions put to a real snapshot, published by the real engine with the offline provider."""

import asyncio
import gc
import inspect
import json
import logging
import shutil
import socket
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from lightrag_dagster import Filters, Keywords, KnowledgeBase, Retrieval
from lightrag_dagster.core.protocols import ChatRequest, Message
from lightrag_dagster.core.text.tokens import load_tokenizer
from lightrag_dagster.errors import (
    ClosedError,
    EmbeddingError,
    OutputLimitError,
    ProviderAccessError,
    QueryError,
    StoreError,
)
from lightrag_dagster.query.mode import ModeName
from lightrag_dagster.query.steps.context import prompt_of
from lightrag_dagster.query.types import Answer
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.stages.prompts import NO_CONTEXT
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.readers import is_read
from lightrag_dagster.storage.snapshots.snapshots import require_published
from tests.loopback import Loopback, Reply
from tests.query.published import SOURCES, publish_sources
from tests.support import FLOOD, build, write_source

STATION = "Who closed Station 14 in the flood?"
KEYWORDS = Keywords(high_level=("flood", "repair"), low_level=("Station 14",))


@pytest.fixture(scope="module")
def knowledge(published_home: Path) -> Iterator[KnowledgeBase]:
    with KnowledgeBase.open(published_home) as opened:
        yield opened


@pytest.fixture
def home(published_home: Path, tmp_path: Path) -> Path:
    """A copy, for tests that change it."""
    return Path(shutil.copytree(published_home, tmp_path / "home"))


@pytest.fixture
def elsewhere(home: Path, loopback: Loopback) -> Iterator[KnowledgeBase]:
    """A knowledge base whose questions go to an endpoint, while its vectors are those of the offline provider."""
    settings = load_settings(
        home=home, llm={"provider": "openai", "model": "gpt-4o-mini"}, embedding={"provider": "openai", "dimensions": 3}
    )
    with KnowledgeBase.open(settings=settings) as opened:
        yield opened


def messages(loopback: Loopback) -> list[list[dict[str, str]]]:
    return [received.body["messages"] for received in loopback.requests]


@pytest.mark.parametrize(
    ("mode", "entities", "relations"),
    [
        ("naive", False, False),
        ("local", True, True),
        ("global", True, True),
        ("hybrid", True, True),
        ("mix", True, True),
    ],
)
def test_every_mode_finds_the_passage(
    knowledge: KnowledgeBase, mode: ModeName, entities: bool, relations: bool
) -> None:
    found = knowledge.retrieve(STATION, mode=mode)
    assert (bool(found.entities), bool(found.relations)) == (entities, relations)
    assert found.chunks[0].path == "flood.md"
    assert found.snapshot_id == knowledge.snapshot_id
    assert found.references[0].reference_id == "1"
    assert "Jonas Feld" in knowledge.query(STATION, mode=mode).text


def test_local_starts_from_entities_and_global_from_relations(knowledge: KnowledgeBase) -> None:
    local = knowledge.retrieve(STATION, mode="local", keywords=KEYWORDS)
    assert local.entities[0].name == "Station 14"
    assert all(entity.score is not None and entity.score >= 0.2 for entity in local.entities)
    assert all(relation.score is None for relation in local.relations)
    orders = [(relation.rank, relation.weight) for relation in local.relations]
    assert orders == sorted(orders, reverse=True)
    names = {entity.name for entity in local.entities}
    assert all({relation.src, relation.tgt} & names for relation in local.relations)

    world = knowledge.retrieve(STATION, mode="global", keywords=KEYWORDS)
    scores = [relation.score for relation in world.relations if relation.score is not None]
    assert len(scores) == len(world.relations)
    assert scores == sorted(scores, reverse=True)
    assert all(entity.score is None for entity in world.entities)
    assert {entity.name for entity in world.entities} == {
        name for relation in world.relations for name in (relation.src, relation.tgt)
    }


@pytest.mark.parametrize(
    ("mode", "keywords", "same_as"),
    [("local", Keywords(high_level=("repaired",)), "global"), ("global", Keywords(low_level=("Station 14",)), "local")],
)
def test_a_mode_without_its_keywords_uses_the_others(
    knowledge: KnowledgeBase, mode: ModeName, keywords: Keywords, same_as: ModeName
) -> None:
    found = knowledge.retrieve(STATION, mode=mode, keywords=keywords)
    expected = knowledge.retrieve(STATION, mode=same_as, keywords=keywords)
    assert found.entities == expected.entities
    assert found.entities
    assert found.relations == expected.relations


def test_citations_lead_to_the_text(knowledge: KnowledgeBase) -> None:
    found = knowledge.retrieve("Who repaired the sensor?", mode="naive")
    for chunk in found.chunks:
        assert chunk.score is not None
        for place in chunk.citations:
            assert SOURCES[place.source][place.path][place.char_start : place.char_end] == chunk.content
    shared = next(chunk for chunk in found.chunks if chunk.content.startswith("Priya"))
    assert [(place.source, place.path) for place in shared.citations] == [
        ("archive", "shared.md"),
        ("office", "copy.md"),
    ]
    assert (shared.source, shared.path, shared.doc_id) == ("archive", "shared.md", shared.citations[0].doc_id)
    assert found.references[int(shared.reference_id) - 1].file == "archive/shared.md"


def test_limits_and_budgets(knowledge: KnowledgeBase) -> None:
    everything = knowledge.retrieve(STATION, keywords=KEYWORDS)
    few = knowledge.retrieve(STATION, keywords=KEYWORDS, chunk_top_k=2, max_entity_tokens=60)
    assert len(everything.chunks) > len(few.chunks) == 2
    assert few.entities == everything.entities[: len(few.entities)]
    assert 0 < len(few.entities) < len(everything.entities)
    bare = knowledge.retrieve(STATION, keywords=KEYWORDS, max_entity_tokens=1, max_relation_tokens=1)
    assert (bare.entities, bare.relations) == ((), ())
    assert bare.chunks
    assert knowledge.retrieve(STATION, keywords=KEYWORDS, max_total_tokens=1).empty
    assert len(knowledge.retrieve(STATION, keywords=KEYWORDS, mode="local", top_k=1).entities) == 1


@pytest.mark.parametrize("most", [1, 600, 700, 800, 900, 1000, 1200, 1500])
def test_the_whole_prompt_is_bounded(knowledge: KnowledgeBase, most: int) -> None:
    count = load_tokenizer(knowledge.settings.chunking.encoding).count
    found = knowledge.prepare(STATION, keywords=KEYWORDS, max_total_tokens=most)
    assert found.request is None or count(prompt_of(found.request)) <= most
    says = f"max_total_tokens, {most:,}, leaves no room for a passage; raise it"
    says += ", or lower max_entity_tokens and max_relation_tokens" if found.retrieval.entities else ""
    assert [one for one in found.retrieval.notes if "room" in one] == ([] if found.retrieval.chunks else [says])


def test_context_and_prompt_show_what_the_model_sees(knowledge: KnowledgeBase) -> None:
    context = knowledge.context(STATION, keywords=KEYWORDS)
    assert '{"entity": "Station 14"' in context
    assert "\n[1] archive/" in context
    prompt = knowledge.prompt(STATION, keywords=KEYWORDS)
    assert context in prompt
    assert prompt.endswith(STATION)


def test_a_stream_is_the_answer_in_pieces(knowledge: KnowledgeBase) -> None:
    pieces = list(knowledge.stream(STATION))
    assert len(pieces) > 1
    assert "".join(pieces) == knowledge.query(STATION).text


def test_a_stream_of_an_endpoint(elsewhere: KnowledgeBase, loopback: Loopback) -> None:
    loopback.chat = lambda body: "Jonas Feld did."
    assert "".join(elsewhere.stream(STATION, keywords=KEYWORDS)).strip() == "Jonas Feld did."
    loopback.script.append(Reply.error(401))
    with pytest.raises(ProviderAccessError):
        list(elsewhere.stream("Who else was there?", keywords=KEYWORDS))


def test_an_answer_is_ready_for_json(knowledge: KnowledgeBase) -> None:
    answer = knowledge.query(STATION)
    read = json.loads(json.dumps(answer.to_dict()))
    assert read["snapshot_id"] == knowledge.snapshot_id == knowledge.manifest.snapshot_id
    assert read["retrieval"]["chunks"][0]["citations"][0]["path"] == "flood.md"


def test_an_answer_cites_what_it_was_given_and_nothing_else(elsewhere: KnowledgeBase, loopback: Loopback) -> None:
    loopback.chat = lambda body: "Jonas Feld [1][7].\n\n### References\n\n- [1] archive/flood.md\n- [7] other.pdf"
    answer = elsewhere.query(STATION, keywords=KEYWORDS, mode="naive")
    assert answer.text == "Jonas Feld [1].\n\n### References\n\n- [1] archive/flood.md"
    assert answer.references == answer.retrieval.references
    assert answer.cited == answer.references[:1]
    assert answer.invalid_citations == 1
    (cited,) = answer.cited
    for passage in answer.retrieval.passages(cited):
        first = passage.citations[0]
        assert SOURCES[first.source][first.path][first.char_start : first.char_end] == passage.content


def test_questions_within_questions_end(home: Path) -> None:
    settings = load_settings(home=home, llm={"max_concurrency": 2})
    done: list[list[list[str]]] = []

    def ask_all() -> None:
        done.append(opened.map(lambda _: [one.text for one in opened.query_batch([STATION] * 3)], range(4)))

    with KnowledgeBase.open(settings=settings) as opened:
        asking = threading.Thread(target=ask_all, daemon=True)
        asking.start()
        asking.join(20)
        assert [len(texts) for texts in done[0]] == [3] * 4


def test_reasoning_cites_nothing_and_is_not_stored(elsewhere: KnowledgeBase, loopback: Loopback) -> None:
    loopback.script.append(Reply(body={"choices": [{"finish_reason": "length", "message": {"content": "<think>hm"}}]}))
    with pytest.raises(OutputLimitError):
        elsewhere.query(STATION, mode="naive")
    loopback.chat = lambda body: "<think>maybe [2]</think>ok [1]"
    answer = elsewhere.query(STATION, mode="naive")
    assert (answer.text, answer.cited, answer.invalid_citations) == ("ok [1]", answer.references[:1], 0)
    assert len(answer.references) > 1


def test_instructions_of_the_caller(elsewhere: KnowledgeBase, loopback: Loopback) -> None:
    loopback.chat = lambda body: "Yes."
    elsewhere.query(STATION, keywords=KEYWORDS, user_prompt="Answer in one word.", system_prompt="You are terse.")
    system = messages(loopback)[0][0]["content"]
    assert system.startswith("You are terse.\n\n## Entities")
    assert system.endswith("# Further instructions\n\nAnswer in one word.")


def test_steps_explain_what_was_found_kept_and_cut(knowledge: KnowledgeBase) -> None:
    answer = knowledge.query(STATION, mode="mix", keywords=KEYWORDS, explain=True, max_entity_tokens=60)
    steps = {step.name: step for step in answer.retrieval.steps}
    assert list(steps) == ["keywords", "filter", "find", "entities", "relations", "related chunks", "chunks", "answer"]
    assert steps["keywords"].notes["low_level"] == KEYWORDS.low_level
    entities = steps["entities"].notes
    assert entities["kept"] == len(answer.retrieval.entities)
    assert entities["kept"] + entities["cut"] == steps["find"].notes["entities"]
    assert [item["name"] for item in entities["items"] if item["kept"]] == [
        one.name for one in answer.retrieval.entities
    ]
    assert all(step.milliseconds >= 0 for step in steps.values())
    brief = knowledge.query(STATION, mode="mix", keywords=KEYWORDS, max_entity_tokens=60)
    assert brief == answer
    assert all("items" not in step.notes for step in brief.retrieval.steps)


def test_tasks_may_share_it_and_get_what_a_script_gets(knowledge: KnowledgeBase) -> None:
    async def service() -> list[Answer]:
        return await asyncio.gather(*(knowledge.aquery(STATION, mode=mode) for mode in ("mix", "naive") * 8))

    async def piecewise() -> str:
        return "".join([piece async for piece in knowledge.astream(STATION)])

    async def found() -> Retrieval:
        return await knowledge.aretrieve(STATION)

    assert asyncio.run(service()) == [knowledge.query(STATION, mode=mode) for mode in ("mix", "naive") * 8]
    assert asyncio.run(piecewise()) == knowledge.query(STATION).text
    assert asyncio.run(found()) == knowledge.retrieve(STATION)


def test_a_batch_is_in_order_and_bounded(published_home: Path, loopback: Loopback, tmp_path: Path) -> None:
    home = shutil.copytree(published_home, tmp_path / "bounded")
    loopback.chat = lambda body: body["messages"][-1]["content"]
    loopback.delay = 0.02
    llm = {"provider": "openai", "model": "gpt-4o-mini", "max_concurrency": 3}
    queries = [f"Question number {number}?" for number in range(9)]
    with KnowledgeBase.open(settings=load_settings(home=home, llm=llm)) as opened:
        answers = opened.query_batch(queries, mode="naive", cosine_threshold=-1)
    assert [answer.text for answer in answers] == queries
    assert 1 < loopback.peak <= 3


def test_questions_that_cannot_be_asked(knowledge: KnowledgeBase) -> None:
    asked: list[tuple[str, Any]] = [("", "bypass"), ("ab", "mix"), ("What?", "clever")]
    for query, mode in asked:
        with pytest.raises(QueryError):
            knowledge.retrieve(query, mode=mode)


def test_it_may_be_asked_inside_a_running_loop(knowledge: KnowledgeBase) -> None:
    async def notebook() -> str:
        return knowledge.query(STATION).text

    assert "Jonas Feld" in asyncio.run(notebook())


def test_threads_may_share_it(knowledge: KnowledgeBase) -> None:
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: knowledge.query(STATION), range(24)))
    assert "Jonas Feld" in answers[0].text
    assert all(answer == answers[0] for answer in answers)


@pytest.mark.long
def test_threads_with_filters_of_their_own_do_not_meet(published_home: Path) -> None:
    def seen(source: str) -> set[str]:
        found = opened.retrieve(STATION, keywords=KEYWORDS, filters=Filters(sources=source), cosine_threshold=-1)
        return {place.source for chunk in found.chunks for place in chunk.citations}

    with KnowledgeBase.open(published_home) as opened, ThreadPoolExecutor(6) as threads:
        assert list(threads.map(seen, ["archive", "office"] * 8)) == [{"archive"}, {"office"}] * 8


def test_closing_ends_the_thread_and_another_opening_gives_the_same(published_home: Path) -> None:
    before = threading.active_count()
    found = []
    for _ in range(2):
        with KnowledgeBase.open(published_home) as opened:
            found.append(opened.retrieve(STATION, keywords=KEYWORDS))
    assert found[0] == found[1]
    assert threading.active_count() == before


def test_closing_frees_the_vectors_in_memory(published_home: Path) -> None:
    with KnowledgeBase.open(published_home) as opened:
        assert opened.retrieve(STATION, mode="naive", cosine_threshold=-1).chunks
        vectors = weakref.ref(vars(opened.snapshot.vectors["chunk_vectors"])["_compared"][1])
        assert vectors() is not None
    gc.collect()
    assert vectors() is None


def test_every_method_that_asks_has_a_time_and_a_form_for_event_loops() -> None:
    """Those of `no_question` open, close or load; those of `of_others` ask what others began, or several at once."""
    no_question = {"open", "follow", "warm", "refresh", "close", "close_unused"}
    of_others = {"answer", "pieces", "complete", "map", "query_batch"}
    public = {name: one for name, one in inspect.getmembers(KnowledgeBase, inspect.isroutine) if name[0] != "_"}
    awaited = {f"a{name}" for name in public} & public.keys()
    asking = public.keys() - awaited - no_question - of_others
    assert {name for name in asking if f"a{name}" not in awaited} == set()
    taken = {name: inspect.signature(public[name]).parameters.keys() for name in asking}
    assert {name for name, takes in taken.items() if not takes & {"timeout", "options"}} == set()


def test_after_closing_every_method_says_so(published_home: Path) -> None:
    with KnowledgeBase.open(published_home) as closed:
        prepared = closed.prepare(STATION)
        half = closed.stream(STATION)
        next(half)
    closed.close()
    ways: list[Callable[[], object]] = [
        *(partial(closed.retrieve, STATION, mode=mode, keywords=KEYWORDS) for mode in get_args(ModeName)),
        *(partial(closed.query, STATION, mode=mode, filters=Filters(sources="office")) for mode in get_args(ModeName)),
        *(partial(method, STATION) for method in (closed.keywords, closed.context, closed.prompt, closed.prepare)),
        *(lambda: next(closed.stream(STATION)), lambda: next(half), lambda: next(closed.pieces(prepared))),
        *(lambda: closed.query_batch([STATION]), lambda: closed.map(str, [1]), lambda: closed.answer(prepared)),
        lambda: closed.complete(ChatRequest("answer", (Message("user", "Who?"),))),
        *(lambda: asyncio.run(closed.aquery(STATION)), lambda: asyncio.run(closed.aretrieve(STATION))),
        *(partial(_first, closed), lambda: closed.cypher("MATCH (e:Entity) RETURN e.name")),
    ]
    for ask in ways:
        with pytest.raises(ClosedError, match="this knowledge base is closed; open it again"):
            ask()


def _first(knowledge: KnowledgeBase) -> str:
    async def first() -> str:
        return await anext(knowledge.astream(STATION))

    return asyncio.run(first())


def test_a_prepared_question_takes_no_options(home: Path) -> None:
    async def first(knowledge: KnowledgeBase) -> str:
        return await anext(knowledge.astream(await knowledge.aprepare(STATION), mode="naive"))

    with (
        KnowledgeBase.open(home) as opened,
        pytest.raises(QueryError, match="takes no options; give mode to `aprepare`"),
    ):
        asyncio.run(first(opened))


def test_questions_under_way_when_it_is_closed_say_so(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several threads ask until they may not, and a model never answers one of them."""

    def ask(mode: ModeName) -> None:
        while True:
            opened.retrieve(STATION, mode=mode, keywords=KEYWORDS, filters=Filters(sources="archive"))

    with socket.create_server(("127.0.0.1", 0)) as silent, ThreadPoolExecutor(5) as threads:
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{silent.getsockname()[1]}/v1")
        opened = KnowledgeBase.open(
            settings=load_settings(home=home, llm={"provider": "openai", "model": "gpt-4o-mini"})
        )
        questions: list[Future[Any]] = [threads.submit(ask, mode) for mode in ("naive", "local", "bm25", "fusion")]
        questions.append(threads.submit(opened.query, STATION, mode="naive"))
        connection, _ = silent.accept()
        opened.close()
        connection.close()
        assert {type(one.exception()) for one in questions} == {ClosedError}


def test_retrieval_with_given_keywords_writes_nothing(home: Path) -> None:
    def listed() -> dict[Path, tuple[int, int]]:
        return {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in home.rglob("*")}

    before = listed()
    with KnowledgeBase.open(home) as opened:
        assert opened.retrieve(STATION, keywords=KEYWORDS).chunks
        assert opened.context(STATION, mode="naive")
    assert listed() == before


def test_cypher_reads_the_graph_of_the_snapshot(knowledge: KnowledgeBase) -> None:
    found = knowledge.cypher(
        "MATCH (:Entity {name: $name})-[:RELATED]-(e:Entity) RETURN e.name AS name ORDER BY name",
        {"name": "Halden Weir"},
    )
    assert {"name": "Marta Lindqvist"} in found
    assert knowledge.cypher("MATCH (e:Entity) RETURN e.name", limit=2) == knowledge.cypher(
        "MATCH (e:Entity) RETURN e.name LIMIT 2"
    )


def test_cypher_says_when_rows_are_cut_that_nobody_limited(knowledge: KnowledgeBase) -> None:
    numbers = "UNWIND range(1, 1001) AS x RETURN x"
    with pytest.warns(
        UserWarning, match="^there are more than 1000 rows; give `limit`, or narrow the query$"
    ) as warned:
        assert len(knowledge.cypher(numbers)) == 1000
    assert warned[0].filename == __file__
    assert len(knowledge.cypher(numbers, limit=5)) == 5
    assert len(knowledge.cypher(numbers, limit=np.int64(2000))) == 1001  # type: ignore[arg-type]
    for limit in (True, 0, 1.5):
        with pytest.raises(QueryError, match="limit takes a whole number from 1"):
            knowledge.cypher(numbers, limit=limit)  # type: ignore[arg-type]
    assert len(knowledge.cypher("UNWIND range(1, 1000) AS x RETURN x")) == 1000


@pytest.mark.long
def test_cypher_that_ends_kuzu_is_an_error_and_the_knowledge_base_goes_on(knowledge: KnowledgeBase) -> None:
    with pytest.raises(QueryError, match="the Cypher ended Kùzu's process"):
        knowledge.cypher("WITH 1 AS x WHERE x=1 RETURN x")
    assert knowledge.retrieve(STATION, mode="naive").chunks
    assert knowledge.cypher("RETURN 1 AS one") == [{"one": 1}]


def test_cypher_names_a_parameter_that_is_missing(knowledge: KnowledgeBase) -> None:
    with pytest.raises(QueryError, match=r"the parameter \$n of the Cypher is not given; the nearest is \$name$"):
        knowledge.cypher("MATCH (e:Entity {name: $n}) RETURN e", {"name": "Halden Weir"})


def test_cypher_after_close_is_an_error(published_home: Path) -> None:
    opened = KnowledgeBase.open(published_home)
    opened.cypher("RETURN 1")
    opened.close()
    with pytest.raises(QueryError, match="closed; open it again"):
        opened.cypher("RETURN 1")


def test_sql_returns_a_table_of_the_snapshot(knowledge: KnowledgeBase) -> None:
    found = knowledge.sql("SELECT source, count(*) AS n FROM raw_documents GROUP BY source ORDER BY source")
    assert found.to_pydict() == {"source": ["archive", "office"], "n": [3, 2]}
    knowledge.sql("CREATE OR REPLACE VIEW entities AS SELECT 42 AS name; FROM entities")
    assert "Halden Weir" in knowledge.sql("SELECT name FROM entities", timeout=60)["name"].to_pylist()
    for wrong, reason in (
        ("SELEC 1", "syntax error"),
        (
            "FROM read_text('/etc/hostname')",
            "the home; `lightrag-dagster sql --allow-external` .*: Permission",
        ),
        ("SET memory_limit = '1TB'", "locked"),
        ("-- nothing", "the SQL is empty"),
        (None, "query takes text, not None"),
        ("SELECT '\ud800'", "half a character"),
    ):
        with pytest.raises(QueryError, match=reason):
            knowledge.sql(wrong)  # type: ignore[arg-type]
    for seconds in ("5", True, 0, float("nan"), 10**400):
        with pytest.raises(QueryError, match=r"timeout (takes a number of seconds|is .* s; it must be more than 0 s)"):
            knowledge.sql("SELECT 1", timeout=seconds)  # type: ignore[arg-type]
    with pytest.raises(QueryError, match=r"longer than 0\.1 s"):
        knowledge.sql("SELECT count(*) FROM range(100000000) AS a, range(100000000) AS b", timeout=0.1)


def test_threads_may_ask_sql_at_once(knowledge: KnowledgeBase) -> None:
    def entities(number: int) -> list[int]:
        statements = f"CREATE OR REPLACE VIEW entities AS SELECT {number} AS n; SELECT n FROM entities"
        return list(knowledge.sql(statements)["n"].to_pylist())

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(entities, range(8))) == [[number] for number in range(8)]


@pytest.mark.long
def test_sql_is_refused_after_closing(published_home: Path) -> None:
    with KnowledgeBase.open(published_home) as opened:
        assert opened.sql("SELECT 1 AS a").num_rows == 1
    with pytest.raises(QueryError, match="closed; open it again"):
        opened.sql("SELECT 1 AS a")


def test_the_home_comes_from_the_settings(published_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIGHTRAG_HOME", str(published_home))
    with KnowledgeBase.open() as opened:
        assert opened.retrieve(STATION, mode="naive").chunks


@pytest.mark.long  # test_readers.py and test_gc.py hold it too
def test_a_reader_keeps_its_snapshot_and_can_open_an_old_one(tmp_path: Path) -> None:
    settings = load_settings(home=tmp_path / "home", sources=tmp_path / "sources")
    old = publish_sources(settings, {"notes": {"a.md": "Marta Lindqvist maintains Halden Weir."}})
    with KnowledgeBase.open(settings=settings) as reader:
        new = publish_sources(settings, {"notes": {"a.md": "Priya Nair maintains Halden Weir."}})
        assert new.snapshot_id != old.snapshot_id
        assert "Marta" in reader.context("Who maintains Halden Weir?", keywords=KEYWORDS)
        assert reader.snapshot_id == old.snapshot_id
    for snapshot_id, name in ((None, "Priya"), (old.snapshot_id, "Marta")):
        with KnowledgeBase.open(settings.home, snapshot_id) as opened:
            context = opened.context("Who maintains Halden Weir?", mode="naive")
            assert [name in context for name in ("Priya", "Marta")].count(True) == 1
            assert opened.sql("SELECT name FROM entities WHERE type = 'person'")["name"][0].as_py().startswith(name)
            assert name in context


def test_another_embedder_than_the_snapshots_is_refused(home: Path) -> None:
    (manifest,) = home.glob("generations/*/manifest.json")
    text = require_published(Home(home)).model_dump_json(exclude={"crc32"})
    manifest.write_text(text.replace('"identity":"offline/', '"identity":"older/'))
    with KnowledgeBase.open(home) as opened, pytest.raises(EmbeddingError, match=r"older/.*run"):
        opened.retrieve(STATION, keywords=KEYWORDS)


def test_where_answers_cannot_be_stored_they_are_given_all_the_same(
    home: Path, elsewhere: KnowledgeBase, loopback: Loopback, caplog: pytest.LogCaptureFixture
) -> None:
    loopback.chat = lambda body: "Jonas Feld did. [1]"
    for file in home.glob("responses.sqlite*"):
        file.unlink()
    (home / "responses.sqlite").mkdir()
    with caplog.at_level(logging.WARNING):
        assert "Jonas Feld" in elsewhere.query(STATION, keywords=KEYWORDS).text
    assert "answers are not stored" in caplog.text


def test_where_money_cannot_be_counted_none_is_spent(home: Path, loopback: Loopback) -> None:
    (home / "responses.sqlite").unlink(missing_ok=True)
    (home / "responses.sqlite").mkdir()
    settings = load_settings(home=home, llm={"provider": "openai", "model": "gpt-4o-mini"})
    account = Account("serve board", max_cost_usd=1.0)
    with KnowledgeBase.open(settings=settings, account=account) as opened, pytest.raises(StoreError):
        opened.query(STATION, keywords=KEYWORDS)
    assert not loopback.requests


def test_where_the_cost_cannot_be_recorded_the_snapshot_is_closed(home: Path, loopback: Loopback) -> None:
    loopback.chat = lambda body: "Jonas Feld did. [1]"
    settings = load_settings(home=home, llm={"provider": "openai", "model": "gpt-4o-mini"})
    opened = KnowledgeBase.open(settings=settings, account=Account("serve board"))
    opened.query(STATION, keywords=KEYWORDS)
    with closing(sqlite3.connect(home / "ledger.sqlite")) as other:
        other.execute("DROP TABLE ledger")
    assert is_read(Home(home), opened.snapshot_id)
    with pytest.raises(StoreError, match="ledger"):
        opened.close()
    assert not is_read(Home(home), opened.snapshot_id)
    opened.close()


def test_rules_that_answer_about_the_base_of_a_model_are_said(
    knowledge: KnowledgeBase, settings: Settings, loopback: Loopback
) -> None:
    assert knowledge.query(STATION).retrieval.notes == ()
    write_source(settings, "office", {"a.txt": FLOOD})
    of_model = settings.changed(embedding={"provider": "openai", "dimensions": 8})
    build(of_model)
    with KnowledgeBase.open(settings=of_model) as opened:
        (note,) = opened.query(STATION, mode="bm25").retrieval.notes
    assert note.startswith("rules answered, since no model is set here")


def test_an_answer_is_stored_under_all_that_the_model_saw(elsewhere: KnowledgeBase, loopback: Loopback) -> None:
    loopback.chat = lambda body: "Jonas Feld did. [1]"
    first = elsewhere.query(STATION, keywords=KEYWORDS)
    assert first.text == "Jonas Feld did. [1]"
    assert elsewhere.query(STATION, keywords=KEYWORDS) == first
    assert len(loopback.requests) == 1
    elsewhere.query(STATION, keywords=KEYWORDS, chunk_top_k=1)
    assert len(loopback.requests) == 2


def test_history_reaches_the_model_but_not_retrieval(elsewhere: KnowledgeBase, loopback: Loopback) -> None:
    history = [Message("user", "Tell me of Bergen."), Message("assistant", "An office.")]
    with_history = elsewhere.query(STATION, keywords=KEYWORDS, history=history)
    assert with_history.retrieval == elsewhere.retrieve(STATION, keywords=KEYWORDS)
    (sent,) = messages(loopback)
    assert [message["role"] for message in sent] == ["system", "user", "assistant", "user"]
    assert [message["content"] for message in sent[1:]] == ["Tell me of Bergen.", "An office.", STATION]


def test_the_model_finds_keywords(elsewhere: KnowledgeBase, loopback: Loopback) -> None:
    loopback.chat = lambda body: '{"high_level_keywords": "flood, repair", "low_level_keywords": ["Station 14"]}'
    assert elsewhere.retrieve(STATION, mode="mix").keywords == KEYWORDS
    assert len(loopback.requests) == 1


@pytest.mark.parametrize(("padding", "found"), [("", True), (" and what did they do about it afterwards", False)])
def test_no_keywords(elsewhere: KnowledgeBase, loopback: Loopback, padding: str, found: bool) -> None:
    loopback.chat = lambda body: '{"high_level_keywords": [], "low_level_keywords": []}'
    question = STATION.rstrip("?") + padding
    answer = elsewhere.query(question, mode="local")
    assert bool(answer.retrieval.entities) == found
    assert len(loopback.requests) == (2 if found else 1)
    assert (answer.text == NO_CONTEXT) != found


@pytest.mark.parametrize("mode", ["naive", "local", "global", "hybrid", "mix"])
def test_nothing_found_is_an_apology_and_no_call(elsewhere: KnowledgeBase, loopback: Loopback, mode: ModeName) -> None:
    answer = elsewhere.query(STATION, mode=mode, keywords=KEYWORDS, cosine_threshold=1.0)
    assert answer.text.endswith("[no-context]")
    assert answer.retrieval.empty
    assert answer.references == ()
    assert elsewhere.context(STATION, mode=mode, keywords=KEYWORDS, cosine_threshold=1.0) == answer.text
    assert loopback.requests == []


def test_bypass_asks_the_model_alone(elsewhere: KnowledgeBase, loopback: Loopback) -> None:
    loopback.chat = lambda body: "Hello."
    answer = elsewhere.query("Hi", mode="bypass")
    assert answer.text == "Hello."
    assert answer.retrieval.empty
    assert messages(loopback) == [[{"role": "user", "content": "Hi"}]]


@pytest.mark.long
def test_a_question_that_needs_a_graph_says_when_there_is_none(settings: Settings) -> None:
    publish_sources(settings, {"tech": {"coil.txt": "the coil is heated by the current until it melts"}})
    with KnowledgeBase.open(settings=settings) as opened:
        mode: ModeName
        for mode in ("local", "global", "hybrid"):
            found = opened.retrieve("what melts the coil?", mode=mode, keywords=Keywords(("coil",), ("heat",)))
            assert not found.chunks, mode
            assert "has no entity; ask in the mode fusion, bm25 or naive" in found.notes[-1]
            assert opened.query("what melts the coil?", mode=mode).retrieval.notes == found.notes
        for mode in ("naive", "bm25", "fusion", "mix", "ppr"):
            found = opened.retrieve("what melts the coil?", mode=mode)
            assert (len(found.chunks), found.notes) == (1, ()), mode


def test_closing_ends_sql_under_way(published_home: Path) -> None:
    opened = KnowledgeBase.open(published_home)
    began = "SELECT count(*) FROM range(1000000000) AS a, range(1000000000) AS b"
    with ThreadPoolExecutor(1) as thread:
        asked = thread.submit(opened.sql, began, trusted=True)
        while not opened._opened.life._calls:
            time.sleep(0.01)
        time.sleep(0.2)
        opened.close()
        with pytest.raises(ClosedError):
            asked.result(60)


@pytest.mark.long
def test_a_service_follows_what_is_published_and_a_name_does_not(tmp_path: Path) -> None:
    settings = load_settings(home=tmp_path / "home", sources=tmp_path / "sources")
    publish_sources(settings, {"notes": {"river.md": "Marta Lindqvist maintains Halden Weir."}})
    with KnowledgeBase.open(settings=settings) as first:
        assert first.refresh() is first
        named = KnowledgeBase.open(snapshot_id=first.snapshot_id, settings=settings)
        publish_sources(settings, {"notes": {"flood.md": "Jonas Feld closed Station 14."}})
        with first.refresh() as newest, named:
            assert newest.snapshot_id != first.snapshot_id
            found = newest.retrieve("Who closed Station 14?", mode="naive").chunks
            assert found[0].path == "flood.md"
            assert newest.refresh() is newest
            assert named.refresh() is named
        assert first.retrieve("Who maintains Halden Weir?", mode="naive").chunks
    with pytest.raises(ClosedError):
        first.refresh()


@pytest.mark.parametrize("name", ["x" * 300, "é" * 120, "../../published", "a/b", "a\0b"])
def test_a_text_that_names_no_folder_is_no_snapshot(published_home: Path, name: str) -> None:
    settings = load_settings(home=published_home)
    with pytest.raises(QueryError, match=r"there is no snapshot .* in .*; `snapshots` lists them$"):
        KnowledgeBase.open(snapshot_id=name, settings=settings)
    with (
        KnowledgeBase.open(settings=settings) as knowledge,
        pytest.raises(QueryError, match=r"there is no snapshot .* `snapshots` lists them$"),
    ):
        knowledge.changes(name)
