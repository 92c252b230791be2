"""A working directory of LightRAG 1.3 to 1.5.7: its documents, chunks, answers and vectors."""

import base64
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.errors import SourceError
from lightrag_dagster.imports.edited import edited_names, read_graph
from lightrag_dagster.imports.json_stores import JsonStores, Row
from lightrag_dagster.imports.stored import StoredBase, StoredDocument, key_of, valid

RECIPE = "lightrag-1.5.7"
"""The recipe of rows that come from LightRAG."""

_DOCUMENTS, _CHUNKS, _STATUS = "kv_store_full_docs", "kv_store_text_chunks", "kv_store_doc_status"
_REAL_DATA = "-Real Data-"
_AROUND_TEXT = (("\nText:\n", "\n#####"), ("\n```\n", "\n```"))
_CONVERSATION = re.compile(r'^\[\{"role"', re.MULTILINE)
_CHARACTERS_A_BYTE = 4  # of JSON, for a row with its other fields


def read_lightrag(folder: Path, most_bytes: int) -> StoredBase:
    """Read LightRAG's stores in a folder, of documents of at most `most_bytes` each.

    Raises:
        SourceError: it is not a folder, or has no documents.
    """
    stores = JsonStores(folder, _CHARACTERS_A_BYTE * most_bytes + (1 << 20))
    if not stores.path(f"{_DOCUMENTS}.json", f"{_DOCUMENTS}.jsonl"):
        raise SourceError(f"{folder} has no {_DOCUMENTS}.json; name LightRAG's working directory, or a workspace in it")
    chunks = _chunks(stores)
    answers, summaries, silent = _answers(stores, chunks)
    base = StoredBase(RECIPE, "lightrag", lambda: _documents(stores, chunks), answers, lambda: _vectors(stores))
    ids = {one.id for one in base.documents()}
    if without := set(chunks.document.values()) - ids:
        stores.notes.append(
            f"chunks of no document, as of insert_custom_kg, do not come along: those of {len(without):,} ids"
        )
    silent = {key for key in silent if chunks.document[key] in ids}
    if graph := read_graph(stores, lambda key: key in silent or ("chunk-" in key and key not in chunks.texts)):
        base.edited = edited_names(graph, answers.values(), summaries)
        base.made_again = len(graph.descriptions) + graph.pairs
        if graph.silent:
            stores.notes.append(
                f"names of chunks without answers, edited or not, which cannot be told: {len(graph.silent):,}"
            )
    base.notes = stores.notes
    return base


class _Chunks(NamedTuple):
    """The key of the text, the hashes of answers and the document of each chunk, and the paths of documents."""

    texts: dict[str, str]
    listed: dict[str, list[str]]
    document: dict[str, str]
    paths: dict[str, str]


def _chunks(stores: JsonStores) -> _Chunks:
    found = _Chunks({}, {}, {}, {})
    for key, row in stores.rows(_CHUNKS):
        names, document = row.get("llm_cache_list"), _text(row, "full_doc_id")
        found.texts[key], found.document[key] = key_of(_text(row, "content")), document
        found.listed[key] = [_hash(one) for one in names if isinstance(one, str)] if isinstance(names, list) else []
        found.paths[document] = max(_path(row), found.paths.get(document, ""))
    if stores.path(f"{_STATUS}.json", f"{_STATUS}.jsonl"):
        found.paths.update({key: path for key, row in stores.rows(_STATUS) if (path := _path(row))})
    return found


def _documents(stores: JsonStores, chunks: _Chunks) -> Iterator[StoredDocument]:
    for key, row in stores.rows(_DOCUMENTS):
        yield StoredDocument(key, _path(row) or chunks.paths.get(key, ""), _text(row, "content"))


def _answers(stores: JsonStores, chunks: _Chunks) -> tuple[dict[str, tuple[str, ...]], list[str], set[str]]:
    """Return the answers by the key of their chunk's text, those of each chunk in its order; and all summaries.

    The third are chunks of which answers are missing.
    """
    said, owner, summaries = dict[str, str](), dict[str, str | None](), list[str]()
    of_text: dict[str, list[tuple[bool, int, str]]] = defaultdict(list)
    texts, listed = chunks.texts, {name for names in chunks.listed.values() for name in names}
    known = set(texts.values())
    for key, row in stores.rows("kv_store_llm_response_cache"):
        answer, kind, name = valid(_text(row, "return")), row.get("cache_type"), _hash(key)
        if kind == "summary":
            summaries.append(answer)
        if kind == "extract" and answer:
            said[name], owner[name] = answer, texts.get(_text(row, "chunk_id"))
            if name not in listed:
                prompt = _text(row, "original_prompt")
                asked, again = _asked(prompt)
                text = owner[name] if owner[name] in asked or not asked else min(asked & known, default="")
                of_text[text or ""].append((again, len(prompt), name))
    found, foreign, silent = dict[str, tuple[str, ...]](), 0, set[str]()
    for chunk, text in sorted(texts.items()):
        own = [name for name in chunks.listed[chunk] if owner.get(name) in (None, text)]
        foreign += len(chunks.listed[chunk]) - len(own)
        names = [name for name in own if name in said] or [name for *_, name in sorted(of_text.get(text, []))]
        if len(names) > len(found.get(text, ())):
            found[text] = tuple(said[name] for name in names)
        if not said.keys() >= set(own):
            silent.add(chunk)
    if foreign:
        stores.notes.append(f"answers that a chunk lists and that are about another text are left out: {foreign:,}")
    return found, summaries, silent | {chunk for chunk, text in texts.items() if text not in found}


def _asked(prompt: str) -> tuple[set[str], bool]:
    """Return the keys of what may be the text of a prompt, and whether it asks for more: then it has a conversation."""
    conversation = _CONVERSATION.search(prompt)
    if conversation:
        try:
            prompt = str(json.JSONDecoder(strict=False).raw_decode(prompt, conversation.start())[0][0]["content"])
        except (ValueError, LookupError, TypeError, RecursionError):
            return set(), True
    texts, real = set[str](), prompt.rpartition(_REAL_DATA)[2]
    for start, end in _AROUND_TEXT:
        rest = real.partition(start)[2]
        texts |= {rest.partition(end)[0], rest.rpartition(end)[0]}
    return set(map(key_of, texts - {""})), bool(conversation)


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


def _path(row: Row) -> str:
    """Return the path under which a document came in; empty if there was none."""
    path = _text(row, "file_path")
    return "" if path == "unknown_source" else path


def _hash(key: str) -> str:
    """Return the hash in a key of the cache, which older versions have alone."""
    return key.rpartition(":")[2]
