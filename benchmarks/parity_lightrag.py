"""The half of `benchmarks.parity` that runs in LightRAG's own environment.

python -m benchmarks.parity_lightrag index|query FOLDER
"""

import asyncio
import json
import logging
import sys
from pathlib import Path
from typing import Any

import networkx
import numpy as np
from lightrag import LightRAG, QueryParam
from lightrag.utils import EmbeddingFunc, Tokenizer

from benchmarks.parity_vectors import DIMENSIONS, embed, entity_text, relation_text
from lightrag_dagster.core.text.encodings import load_encoding

START, END = "---Input Text---\n```\n", "\n```"
SEPARATOR = "<SEP>"
MODES = ("local", "global", "hybrid", "mix", "naive")


async def opened(folder: Path, pick: str = "VECTOR") -> LightRAG:
    answers = json.loads((folder / "answers.json").read_text())

    async def answer(prompt: str, system_prompt: str | None = None, history_messages: Any = (), **options: Any) -> str:
        if START not in prompt:
            return prompt[-400:]
        return str(answers[prompt.split(START, 1)[1].split(END, 1)[0].strip()])

    async def embed_all(texts: list[str], **options: Any) -> Any:
        return np.asarray(embed(texts))

    rag = LightRAG(
        working_dir=str(folder / "lightrag"),
        llm_model_func=answer,
        embedding_func=EmbeddingFunc(DIMENSIONS, embed_all),
        tokenizer=Tokenizer("gpt-4o-mini", load_encoding("o200k_base")),
        kg_chunk_pick_method=pick,
        entity_extract_max_gleaning=0,
        enable_llm_cache=False,
        enable_llm_cache_for_entity_extract=False,
        # One after the other, so that running it again makes the same graph.
        max_parallel_insert=1,
    )
    await rag.initialize_storages()
    return rag


async def index(folder: Path) -> None:
    rag = await opened(folder)
    pieces = json.loads((folder / "pieces.json").read_text())
    await rag.ainsert(list(pieces.values()), ids=list(pieces), file_paths=list(pieces))
    await rag.finalize_storages()


async def query(folder: Path) -> None:
    dump = dumped(folder / "lightrag")
    chunks = {chunk["id"]: number for number, chunk in enumerate(dump["chunks"])}
    entities = {entity["name"]: number for number, entity in enumerate(dump["entities"])}
    relations = {frozenset((one["src"], one["tgt"])): number for number, one in enumerate(dump["relations"])}
    for question in dump["questions"]:
        question["found"] = {}
    for pick in ("VECTOR", "WEIGHT"):
        # Not the process that indexed: the graph is read from its file, whose order is the order of the dump.
        rag = await opened(folder, pick)
        for question in dump["questions"]:
            for mode in MODES:
                param = QueryParam(mode=mode, hl_keywords=question["high"], ll_keywords=question["low"])
                data = (await rag.aquery_data(question["question"], param)).get("data", {})
                ends = [frozenset((one["src_id"], one["tgt_id"])) for one in data.get("relationships", [])]
                question["found"][f"{mode} {pick}"] = {
                    "entities": [entities[one["entity_name"]] for one in data.get("entities", [])],
                    "relations": [relations[pair] for pair in ends],
                    "chunks": [chunks[one["chunk_id"]] for one in data.get("chunks", [])],
                }
        await rag.finalize_storages()
    (folder / "parity.json").write_text(json.dumps(dump, ensure_ascii=False, sort_keys=True))


def dumped(folder: Path) -> dict[str, Any]:
    """Return chunks, entities and relations as LightRAG stores them, in the order of its files."""
    texts = json.loads((folder / "kv_store_text_chunks.json").read_text())
    chunks = [
        {"id": key, "content": chunk["content"], "tokens": chunk["tokens"], "file": chunk["file_path"]}
        for key, chunk in texts.items()
    ]
    numbers = {chunk["id"]: number for number, chunk in enumerate(chunks)}
    graph = networkx.read_graphml(folder / "graph_chunk_entity_relation.graphml")
    stored = {
        name: {row["__id__"]: row for row in json.loads((folder / f"vdb_{name}.json").read_text())["data"]}
        for name in ("entities", "relationships")
    }
    ends = {frozenset((row["src_id"], row["tgt_id"])): row for row in stored["relationships"].values()}
    content = {row["entity_name"]: row["content"] for row in stored["entities"].values()}
    entities = []
    for name, node in graph.nodes(data=True):
        assert content[name] == entity_text(name, node["description"])
        entities.append(
            {
                "name": name,
                "type": node["entity_type"],
                "description": node["description"],
                "chunks": [numbers[key] for key in node["source_id"].split(SEPARATOR)],
            }
        )
    relations = []
    for src, tgt, edge in graph.edges(data=True):
        row = ends[frozenset((src, tgt))]
        text = relation_text(row["src_id"], row["tgt_id"], edge["keywords"], edge["description"])
        assert row["content"] == text
        relations.append(
            {
                "src": row["src_id"],
                "tgt": row["tgt_id"],
                "keywords": edge["keywords"],
                "description": edge["description"],
                "weight": edge["weight"],
                "chunks": [numbers[key] for key in edge["source_id"].split(SEPARATOR)],
            }
        )
    questions = json.loads((folder.parent / "questions.json").read_text())
    return {"chunks": chunks, "entities": entities, "relations": relations, "questions": questions}


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    asyncio.run({"index": index, "query": query}[sys.argv[1]](Path(sys.argv[2])))
