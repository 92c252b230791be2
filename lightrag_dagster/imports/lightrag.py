"""A working directory of LightRAG 1.3 to 1.5.7: its documents, chunks, answers and vectors."""

import base64
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.errors import SourceError
from lightrag_dagster.imports.edited import edited_names, read_graph
from lightrag_dagster.imports.json_stores import JsonStores, Row
from lightrag_dagster.imports.stored import StoredBase, StoredDocument, key_of, valid

RECIPE = "lightrag-1.5.7"
"""The recipe of rows that come from LightRAG."""

_DOCUMENTS = "kv_store_full_docs"
_REAL_DATA = "-Real Data-"
_TEXT = re.compile(r"\nText:\n(.*)\n#{5,}\nOutput:|\n```\n(.*)\n```", re.DOTALL)
_CHARACTERS_A_BYTE = 4  # of JSON, for a row with its other fields


def read_lightrag(folder: Path, most_bytes: int) -> StoredBase:
    """Read LightRAG's stores in a folder, of documents of at most `most_bytes` each.

    Raises:
        SourceError: it is not a folder, or has no documents.
    """
    stores = JsonStores(folder, _CHARACTERS_A_BYTE * most_bytes + (1 << 20))
    if not stores.path(f"{_DOCUMENTS}.json", f"{_DOCUMENTS}.jsonl"):
        raise SourceError(f"{folder} has no {_DOCUMENTS}.json; name LightRAG's working directory, or a workspace in it")
    answers, summaries = _answers(stores)
    graph = read_graph(stores)
    base = StoredBase(RECIPE, "lightrag", lambda: _documents(stores), answers, lambda: _vectors(stores))
    if graph:
        base.edited = edited_names(graph, answers.values(), summaries)
        base.made_again = len(graph.descriptions) + graph.pairs
    base.notes = stores.notes
    return base


def _documents(stores: JsonStores) -> Iterator[StoredDocument]:
    for key, row in stores.rows(_DOCUMENTS):
        path = _text(row, "file_path")
        yield StoredDocument(key, "" if path == "unknown_source" else path, _text(row, "content"))


def _answers(stores: JsonStores) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """Return the answers by the key of their chunk's text, those of each chunk in its order, and all summaries."""
    texts, listed, documents = dict[str, str](), dict[str, list[str]](), set[object]()
    for chunk, row in stores.rows("kv_store_text_chunks"):
        texts[chunk] = key_of(_text(row, "content"))
        names = row.get("llm_cache_list")
        listed[chunk] = [_hash(name) for name in names if isinstance(name, str)] if isinstance(names, list) else []
        documents.add(row.get("full_doc_id"))
    said, owner, summaries = dict[str, str](), dict[str, str | None](), list[str]()
    of_text: dict[str, list[str]] = defaultdict(list)
    for key, row in stores.rows("kv_store_llm_response_cache"):
        answer, kind = valid(_text(row, "return")), row.get("cache_type")
        if kind == "summary":
            summaries.append(answer)
        if kind == "extract" and answer:
            said[_hash(key)], owner[_hash(key)] = answer, texts.get(_text(row, "chunk_id"))
            if not row.get("chunk_id"):
                text, first = _asked(_text(row, "original_prompt"))
                of_text[text].insert(0 if first else len(of_text[text]), answer)
    found, foreign = dict[str, tuple[str, ...]](), 0
    for chunk, text in texts.items():
        own = [name for name in listed[chunk] if owner.get(name) in (None, text)]
        foreign += len(listed[chunk]) - len(own)
        if responses := [said[name] for name in own if name in said] or of_text.get(text, []):
            found.setdefault(text, tuple(responses))
    if foreign:
        stores.notes.append(f"answers that a chunk lists and that are about another text are left out: {foreign:,}")
    if without := documents - {one.id for one in _documents(stores)}:
        stores.notes.append(
            f"chunks of no document, as of insert_custom_kg, do not come along: those of {len(without):,} ids"
        )
    return found, summaries


def _asked(prompt: str) -> tuple[str, bool]:
    """Return the key of the text that a prompt of an old version is about, and whether it was the first about it.

    Further ones begin with the conversation so far, as JSON.
    """
    first = not prompt.startswith("[")
    try:
        prompt = prompt if first else str(json.JSONDecoder(strict=False).raw_decode(prompt)[0][0]["content"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return "", first
    found = _TEXT.search(prompt.rpartition(_REAL_DATA)[2])
    return (key_of(found[1] or found[2] or "") if found else ""), first


def _vectors(stores: JsonStores) -> Iterator[tuple[str, Vectors]]:
    """Yield the text and the vector of each chunk; none of a file that is damaged."""
    try:
        if path := stores.path("vdb_chunks.json"):
            held = json.loads(path.read_bytes())
            matrix = np.frombuffer(base64.b64decode(held["matrix"]), "<f4").reshape(len(held["data"]), -1)
            yield from zip((valid(str(row["content"])) for row in held["data"]), matrix, strict=True)
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        stores.notes.append(f"vdb_chunks.json is damaged: {type(error).__name__}")


def _text(row: Row, name: str) -> str:
    value = row.get(name)
    return value if isinstance(value, str) else ""


def _hash(key: str) -> str:
    """Return the hash in a key of the cache, which older versions have alone."""
    return key.rpartition(":")[2]
