"""A working directory of LightRAG 1.3 to 1.5.7: its documents, chunks, answers and vectors."""

import base64
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.errors import SourceError
from lightrag_dagster.imports.edited import edited_names, read_graph
from lightrag_dagster.imports.json_stores import JsonStores
from lightrag_dagster.imports.stored import StoredBase, StoredDocument, key_of, valid

RECIPE = "lightrag-1.5.7"
"""The recipe of rows that come from LightRAG."""

_MODES = ("default", "local", "global", "hybrid", "mix", "naive", "bypass")
_UNKNOWN = "unknown_source"
_REAL_DATA = "-Real Data-"
_OLD_TEXT = re.compile(r"\nText:\n(.*)\n#{5,}\nOutput:", re.DOTALL)
_FENCED = re.compile(r"\n```\n(.*)\n```", re.DOTALL)
_CHARACTERS_A_BYTE = 4  # of JSON, for a row with its other fields


def read_lightrag(folder: Path, most_bytes: int) -> StoredBase:
    """Read what LightRAG stored in a folder, of documents of at most `most_bytes` each.

    Raises:
        SourceError: it is no folder, or has no documents.
    """
    stores = JsonStores(folder, _CHARACTERS_A_BYTE * most_bytes + (1 << 20))
    if not stores.has("kv_store_full_docs"):
        raise SourceError(f"{folder} has no kv_store_full_docs.json; name LightRAG's working directory, or a workspace")
    for name in ("kv_store_text_chunks", "kv_store_llm_response_cache"):
        if not stores.has(name):
            stores.note(f"{name}.json is not there, so that every chunk is asked about")
    answers, summaries = _answers(stores, {one.id for one in _documents(stores)})
    graph = read_graph(stores)
    return StoredBase(
        recipe=RECIPE,
        model="lightrag",
        documents=lambda: _documents(stores),
        answers=answers,
        vectors=lambda: _vectors(stores),
        edited=edited_names(graph, answers.values(), summaries) if graph else (),
        made_again=len(graph.descriptions) + graph.pairs if graph else None,
        notes=stores.notes,
    )


def _documents(stores: JsonStores) -> Iterator[StoredDocument]:
    for key, row in stores.rows("kv_store_full_docs"):
        path = _text(row, "file_path")
        yield StoredDocument(key, "" if path == _UNKNOWN else path, _text(row, "content"))


def _answers(stores: JsonStores, documents: set[str]) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """Return the answers by the key of their chunk's text, those of each chunk in its order, and all summaries."""
    texts, listed, homeless = dict[str, str](), dict[str, list[str]](), 0
    for chunk, row in stores.rows("kv_store_text_chunks"):
        homeless += row.get("full_doc_id") not in documents
        texts[chunk] = key_of(_text(row, "content"))
        names = row.get("llm_cache_list")
        listed[chunk] = [_hash(name) for name in names if isinstance(name, str)] if isinstance(names, list) else []
    said, owner, summaries = dict[str, str](), dict[str, str | None](), list[str]()
    of_text: dict[str, list[str]] = defaultdict(list)
    for key, row in stores.rows("kv_store_llm_response_cache", _MODES.__contains__):
        answer, kind = valid(_text(row, "return")), row.get("cache_type")
        if kind == "summary":
            summaries.append(answer)
        if kind == "extract" and answer:
            said[_hash(key)] = answer
            owner[_hash(key)] = texts.get(_text(row, "chunk_id"))
            if not row.get("chunk_id"):
                text, first = _asked(_text(row, "original_prompt"))
                of_text[key_of(text)].insert(0 if first else len(of_text[key_of(text)]), answer)
    found, foreign = dict[str, tuple[str, ...]](), 0
    for chunk, text in texts.items():
        own = [name for name in listed[chunk] if owner.get(name) in (None, text)]
        foreign += len(listed[chunk]) - len(own)
        responses = [said[name] for name in own if name in said] or of_text.get(text, [])
        if responses:
            found.setdefault(text, tuple(responses))
    if homeless:
        stores.note(f"chunks of no document, as of insert_custom_kg, that do not come along: {homeless:,}")
    if foreign:
        stores.note(f"answers that a chunk lists and that are about another text: {foreign:,}; they are left out")
    return found, summaries


def _asked(prompt: str) -> tuple[str, bool]:
    """Return the text that a prompt of an old version is about, and whether it was the first question about it.

    Further ones begin with the conversation so far, as JSON.
    """
    first = not prompt.startswith("[")
    if not first:
        try:
            history, _ = json.JSONDecoder(strict=False).raw_decode(prompt)
            prompt = str(history[0]["content"])
        except (ValueError, LookupError, TypeError, RecursionError):
            return "", False
    prompt = prompt.rpartition(_REAL_DATA)[2]
    found = _OLD_TEXT.search(prompt) or _FENCED.search(prompt)
    return (found[1] if found else ""), first


def _vectors(stores: JsonStores) -> Iterator[tuple[str, Vectors]]:
    """Yield the text and the vector of each chunk; none of a file that is damaged."""
    path = stores.path("vdb_chunks.json")
    if path is None:
        return
    try:
        held = json.loads(path.read_bytes())
        rows, dimensions = held["data"], int(held["embedding_dim"])
        matrix = np.frombuffer(base64.b64decode(held["matrix"]), "<f4").reshape(len(rows), dimensions)
    except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
        stores.note(f"vdb_chunks.json is damaged, and no vector is taken: {type(error).__name__}")
        return
    for row, vector in zip(rows, matrix, strict=True):
        if isinstance(row, dict) and (text := valid(_text(row, "content"))):
            yield text, vector


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    return value if isinstance(value, str) else ""


def _hash(key: str) -> str:
    """Return the hash in a key of the cache, which older versions have alone."""
    return key.rpartition(":")[2]
