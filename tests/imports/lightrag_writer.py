"""Writes a working directory with LightRAG itself; runs in LightRAG's environment.

    python -m tests.imports.lightrag_writer FOLDER < STEPS

STEPS are JSON: `documents` and then `edited` ones by their ids, `deleted` ids, `entities` with changes by their names,
`merged` lists of names with the name that they become, and the `dimensions` of vectors.
"""

import asyncio
import json
import logging
import sys
from functools import partial
from typing import Any

from lightrag import LightRAG
from lightrag.llm import openai
from lightrag.utils import EmbeddingFunc


async def write(folder: str, steps: dict[str, Any]) -> None:
    embed = partial(openai.openai_embed.func, model="text-embedding-3-small")
    rag = LightRAG(
        working_dir=folder,
        llm_model_func=openai.gpt_4o_mini_complete,
        embedding_func=EmbeddingFunc(steps["dimensions"], embed),
        llm_model_max_async=16,
        max_parallel_insert=8,
    )
    await rag.initialize_storages()
    for documents in (steps["documents"], steps["edited"]):
        for name in documents if documents is steps["edited"] else ():
            await rag.adelete_by_doc_id(name)
        await rag.ainsert([*documents.values()], ids=[*documents], file_paths=[f"{name}.txt" for name in documents])
    for name in steps["deleted"]:
        await rag.adelete_by_doc_id(name)
    for name, changes in steps["entities"].items():
        await rag.aedit_entity(name, changes)
    for names, into in steps["merged"]:
        await rag.amerge_entities(names, into)
    await rag.finalize_storages()


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    asyncio.run(write(sys.argv[1], json.load(sys.stdin)))
