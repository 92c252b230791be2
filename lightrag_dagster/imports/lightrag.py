"""A working directory of LightRAG 1.3 to 1.5.7: its documents, chunks, answers and vectors."""

import base64
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np

from lightrag_dagster.core.identity import name_key
from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.errors import SourceError, one_line
from lightrag_dagster.imports.json_stores import JsonStores, Row
from lightrag_dagster.imports.stored import EditedName, StoredBase, StoredDocument, key_of, valid
from lightrag_dagster.stages.extraction.parsing import parse_response

RECIPE = "lightrag-1.5.7"
"""The recipe of rows that come from LightRAG."""

_DOCUMENTS, _CHUNKS, _STATUS = "kv_store_full_docs", "kv_store_text_chunks", "kv_store_doc_status"
_EXTRACT = ":extract:"
"""A part of the key of an answer about a chunk."""

_CONVERSATION = '[{"role": "user"'
"""The part of a prompt that has what was said before, as where it asks for more."""

_MARK = "{{LRdoc}}"
_RULE = "#" * 22
"""The line below the text in a prompt of 1.3."""

_CHARACTERS_A_BYTE = 4  # of JSON, for a row with its other fields


def read_lightrag(folder: Path, most_bytes: int) -> StoredBase:
    """Read LightRAG's stores in a folder, of documents of at most `most_bytes` each.

    Raises:
        SourceError: it is not a folder, or has no documents.
    """
    stores = JsonStores(folder, _CHARACTERS_A_BYTE * most_bytes + (1 << 20))
    if not (path := stores.path(f"{_DOCUMENTS}.json", f"{_DOCUMENTS}.jsonl")):
        raise SourceError(f"{folder} has no {_DOCUMENTS}.json; name LightRAG's working directory, or a workspace in it")
    chunks = _chunks(stores)
    answers, summaries = _answers(stores, chunks)
    base = StoredBase(RECIPE, "lightrag", lambda: _documents(stores), answers, lambda: _vectors(stores))
    ids = {one.id for one in base.documents()}
    is_whole = _DOCUMENTS not in stores.damaged
    if not (ids or is_whole):
        raise SourceError(f"{path} is empty or damaged at its first row, so that no document is known; restore it")
    if is_whole and (without := set(chunks.document.values()) - ids):
        stores.notes.append(
            f"chunks of no document, as of insert_custom_kg, do not come along: those of {len(without):,} ids"
        )
    if (descriptions := _read_graph(stores)) is not None:
        base.edited = _edited_names(descriptions, answers.values(), summaries)
    base.notes, base.is_whole = stores.notes, is_whole
    return base


class _Chunks(NamedTuple):
    """The key of the text, the keys of answers and the document of each chunk; the texts of those that list none.

    `inner` are last windows of a document that end the one before, which is one with them here.
    """

    keys: dict[str, str]
    listed: dict[str, list[str]]
    document: dict[str, str]
    silent: dict[str, str]
    inner: dict[str, str]


def _chunks(stores: JsonStores) -> _Chunks:
    found, before, whole = _Chunks({}, {}, {}, {}, {}), "", ""
    for key, row in stores.rows(_CHUNKS):
        text, names = _text(row, "content"), row.get("llm_cache_list")
        listed = names if isinstance(names, list) else []
        found.keys[key], found.document[key] = key_of(text), _text(row, "full_doc_id")
        found.listed[key] = [one for one in listed if isinstance(one, str) and _EXTRACT in one]
        if not found.listed[key]:
            found.silent[key] = text
        if text.strip() and whole.endswith(text.strip()) and found.document[key] == found.document[before]:
            found.inner[key] = found.inner.get(before, before)
        before, whole = key, text.rstrip()
    return found


def _documents(stores: JsonStores) -> Iterator[StoredDocument]:
    paths = dict[str, str]()  # full_docs of 1.4 has none
    if stores.path(f"{_STATUS}.json", f"{_STATUS}.jsonl"):
        paths = {key: _path(row) for key, row in stores.rows(_STATUS)}
    for key, row in stores.rows(_DOCUMENTS):
        text = _text(row, "content")
        if row.get("parse_format") == "lightrag":  # parsed by its own engines
            text = text.removeprefix(_MARK)
        yield StoredDocument(key, _path(row) or paths.get(key, ""), text)


def _answers(stores: JsonStores, chunks: _Chunks) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """Return the answers by the key of their chunk's text, those of each chunk in its order; and all summaries.

    Without the first answer of a chunk none is taken. A chunk that lists none, as of a document that failed, has those
    that name it and were asked about its text, or in 1.3, where they name none, about this text; what asks for more has
    a longer prompt.
    """
    said, summaries = dict[str, str](), list[str]()
    unlisted = defaultdict[str, list[tuple[bool, int, str]]](list)
    for name, row in stores.rows("kv_store_llm_response_cache"):
        answer, kind = valid(_text(row, "return")), row.get("cache_type")
        if kind == "summary":
            summaries.append(answer)
        if kind == "extract" and answer:
            said[name] = answer
            chunk, prompt = _text(row, "chunk_id"), _text(row, "original_prompt")
            asked = (_CONVERSATION in prompt, len(prompt), name)
            text = chunks.silent.get(chunk, "").strip()
            if text and (text in prompt or json.dumps(text, ensure_ascii=False)[1:-1] in prompt):
                unlisted[chunks.keys[chunk]].append(asked)
            elif not chunk:
                unlisted[key_of(_text_asked(prompt))].append(asked)
    found, lost = dict[str, tuple[str, ...]](), Counter[str]()
    for chunk, key in sorted(chunks.keys.items()):
        others = [] if chunks.listed[chunk] else sorted(unlisted[key])
        names = chunks.listed[chunk] or [name for *_, name in others]
        answers = tuple(said[name] for name in names if name in said)
        if answers and (names[0] not in said or (others and others[0][0])):
            lost["chunks with answers to a request for more alone, which are not taken"] += 1
        elif len(answers) > len(found.get(key, ())):
            found[key] = answers
            missing = len(names) - len(answers)
            lost["answers to requests for more that are missing, of chunks with a first answer"] += missing
    stores.notes += [f"{what}: {number:,}" for what, number in lost.items() if number]
    own = {key for chunk, key in chunks.keys.items() if chunk not in chunks.inner}
    for key, outer in sorted({(chunks.keys[one], chunks.keys[other]) for one, other in chunks.inner.items()}):
        if key in found and outer in found and key != outer:
            found[outer] += found[key] if key in own else found.pop(key)
    return found, summaries


def _text_asked(prompt: str) -> str:
    """Return the text that a prompt of LightRAG 1.3 asks about; one that asks for more has it in its conversation."""
    real = prompt.partition("-Real Data-")[2]
    text, end, _ = real.partition("Text:\n")[2].partition(f"\n{_RULE}")
    if end:
        return text
    try:
        text = real.partition("Text:\\n")[2].partition(f"\\n{_RULE}")[0]
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return ""


def _vectors(stores: JsonStores) -> Iterator[tuple[str, Vectors]]:
    """Yield the text and the vector of each chunk; of a damaged file those before the damage."""
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


_FILE = "graph_chunk_entity_relation.graphml"


def _read_graph(stores: JsonStores) -> dict[str, str] | None:
    """Return the description of each name of the graph in a folder; None if there is none, or it is damaged."""
    descriptions, keys = dict[str, str](), dict[str, str]()
    try:
        if (path := stores.path(_FILE)) is None:
            raise ValueError("it is not in the folder, or is a link out of it")
        with path.open("rb") as file:
            for _, one in ElementTree.iterparse(file):
                kind, name = one.tag.rpartition("}")[2], one.get("id", "")
                if kind == "key" and one.get("for") == "node":
                    keys[name] = one.get("attr.name", "")
                elif kind == "node":
                    said = {keys.get(data.get("key", "")): data.text or "" for data in one}
                    descriptions[name] = said.get("description", "")
                if kind in ("node", "edge"):
                    one.clear()
    except (LookupError, OSError, ValueError, ElementTree.ParseError) as error:
        stores.notes.append(f"{_FILE} cannot be read, so that names edited there are not known: {one_line(error)}")
        return None
    return descriptions


def _edited_names(
    descriptions: Mapping[str, str], answers: Iterable[Sequence[str]], summaries: Iterable[str]
) -> list[EditedName]:
    """Return the names that graph and answers do not share, and those with a description that no answer has."""
    names, texts = dict[str, str](), set(map(_letters, summaries))
    for records in (parse_response(one) for several in answers for one in several):
        said = [one.name for one in records.entities]
        said += [name for one in records.relations for name in (one.src, one.tgt)]
        names |= {name_key(name): name for name in said}
        # LightRAG describes an end without a row by its relation.
        texts |= {_letters(one.description) for one in records.relations}
        texts |= {_letters(one.description) for one in records.entities}
    here = {name_key(name) for name in descriptions}
    found = [EditedName(name, "answers") for key, name in names.items() if key not in here]
    for name, description in descriptions.items():
        if name_key(name) not in names:
            found.append(EditedName(name, "graph", description))
        elif not texts.issuperset(map(_letters, description.split("<SEP>"))):
            found.append(EditedName(name, "description", description))
    return sorted(found)


def _letters(text: str) -> str:
    """Return the letters and digits, which cleaning leaves as they are."""
    return "".join(filter(str.isalnum, text))
