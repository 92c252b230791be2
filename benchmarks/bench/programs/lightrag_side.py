"""LightRAG, asked by lines of JSON; runs in an environment of its own.

    python -m benchmarks.bench.programs.lightrag_side FOLDER SETTINGS

SETTINGS are arguments of LightRAG and `dimensions`, as JSON. A request changes documents, `{"delete": names, "insert":
{name: text}}`, asks, `{"mode": …, "questions": […]}`, or wants the size of the graph, `{"graph": true}`.
"""

import asyncio
import json
import logging
import sys
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from lightrag import LightRAG, QueryParam
from lightrag.llm import openai
from lightrag.utils import EmbeddingFunc

from benchmarks.bench.programs.channel import Channel, measured, milliseconds


class Clients:
    """The processor's time that LightRAG spends on making clients of the server."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._make, openai.create_openai_async_client = openai.create_openai_async_client, self._timed

    def _timed(self, **options: Any) -> Any:
        started = time.thread_time()
        try:
            return self._make(**options)
        finally:
            self.seconds += time.thread_time() - started


class Side:
    """LightRAG, opened in a folder, with the functions for models that it brings along."""

    def __init__(self, folder: str, settings: Mapping[str, Any]) -> None:
        self._clients = Clients()
        own = dict(settings)
        embed = partial(openai.openai_embed.func, model="text-embedding-3-small")
        self.rag = LightRAG(
            working_dir=folder,
            llm_model_func=openai.gpt_4o_mini_complete,
            embedding_func=EmbeddingFunc(own.pop("dimensions"), embed),
            **own,
        )

    async def change(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Delete and then insert documents; return what that cost, and how many documents are processed since."""
        clients = self._clients.seconds
        with measured() as cost:
            for name in request["delete"]:
                await self.rag.adelete_by_doc_id(name)
            if documents := request["insert"]:
                paths = [f"{name}.txt" for name in documents]
                await self.rag.ainsert(list(documents.values()), ids=list(documents), file_paths=paths)
        statuses = await self.rag.get_processing_status()
        return {"cost": cost, "clients": self._clients.seconds - clients, "processed": statuses["processed"]}

    async def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the milliseconds of each question, and the files of the chunks it found."""
        clients, times, files = self._clients.seconds, list[float](), []
        for one in request["questions"]:
            param = QueryParam(mode=request["mode"], hl_keywords=one["high_level"], ll_keywords=one["low_level"])
            with milliseconds(times):
                found = await self.rag.aquery_data(one["text"], param)
            files.append([chunk["file_path"] for chunk in found.get("data", {}).get("chunks", [])])
        return {"milliseconds": times, "files": files, "clients": (self._clients.seconds - clients) * 1000}

    async def graph(self, _request: Mapping[str, Any]) -> dict[str, Any]:
        """Return how many entities and relations there are."""
        stored = self.rag.chunk_entity_relation_graph
        return {"entities": len(await stored.get_all_nodes()), "relations": len(await stored.get_all_edges())}


async def main() -> None:
    """Answer until no request comes any more."""
    logging.disable(logging.CRITICAL)
    channel = Channel()
    side = Side(sys.argv[1], json.loads(sys.argv[2]))
    await side.rag.initialize_storages()
    answers = {"insert": side.change, "questions": side.ask, "graph": side.graph}
    while request := await asyncio.to_thread(channel.read):
        channel.write(await next(answers[key] for key in answers if key in request)(request))
    await side.rag.finalize_storages()


asyncio.run(main())
