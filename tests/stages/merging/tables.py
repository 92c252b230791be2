"""Mentions by hand, and what merging them yields."""

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from lightrag_dagster import schemas
from lightrag_dagster.core import identity
from lightrag_dagster.core.protocols import ChatRequest, ChatResponse
from lightrag_dagster.curation.rules.resolving import NO_DECISIONS, Curation
from lightrag_dagster.engines.engine import LOCAL, Engine
from lightrag_dagster.errors import PermanentProviderError
from lightrag_dagster.fact_schemas import FACT_EVIDENCE, FACTS, MERGED_FACTS, READINGS
from lightrag_dagster.settings.sections import MergingSettings, TermsMode
from lightrag_dagster.stages.merging.inputs import MergeInput, Previous, Rules
from lightrag_dagster.stages.merging.merge import open_merge
from lightrag_dagster.stages.merging.parts import Size
from lightrag_dagster.stages.merging.summaries import summarise
from lightrag_dagster.stages.prompts import load_prompts
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.snapshots.scratch import Scratch, SharedFolder

RECIPE = "recipe"
NAMES = ["Halden Weir", "halden  weir", '"Halden Weir"', "Marta", "MARTA", "Bergen", "Öre"]
Row = dict[str, Any]


class Summariser:
    """Answers every summary with the name it was asked about, or fails."""

    identity = "summariser"

    def __init__(self, fails: bool = False) -> None:
        self.requests: list[ChatRequest] = []
        self._fails = fails

    async def complete(self, request: ChatRequest) -> ChatResponse:
        self.requests.append(request)
        if self._fails:
            raise PermanentProviderError("refused")
        return ChatResponse("summary of " + request.messages[-1].content.splitlines()[0])


class Exact(Summariser):
    """Answers with a hash of all that it was asked, so that two summaries are equal only of the same request."""

    async def complete(self, request: ChatRequest) -> ChatResponse:
        await super().complete(request)
        return ChatResponse(identity.digest([message.content for message in request.messages]))


def chunk(source: str, path: str, index: int, chunk_id: str) -> Row:
    return {
        "source": source,
        "chunk_id": chunk_id,
        "doc_id": identity.document_id(source, path),
        "path": path,
        "chunk_index": index,
        "content": chunk_id,
        "tokens": 1,
        "char_start": 0,
        "char_end": 1,
        "heading": None,
        "page": None,
        "recipe": RECIPE,
        "text_hash": chunk_id,
    }


def nameless_chunks() -> list[Row]:
    """Return sixty chunks of two sources: each third is about one thing, and three name a `carrier wave detector`."""
    texts = [
        "The magnetic tapes of the archive are old.",
        "A magnetic tape fills slowly; fig. 2.",
        "It was quickly closed.",
    ]
    rows = []
    for n in range(60):
        text = "He opened the carrier wave detector, a rapid detector." if n in (1, 20, 40) else texts[n % 3]
        alone = f" Wort{'abcdefghij'[n % 10]}{'klmnopqrst'[n // 10]} stands alone."
        rows.append(chunk("ab"[n % 2], f"{n:03}.txt", 0, f"c{n:03}") | {"content": text + alone})
    return rows


def crowded_chunks() -> list[Row]:
    """Return `nameless_chunks` with eighty words more, of which each is in three chunks."""
    rows = nameless_chunks()
    for n, row in enumerate(rows):
        words = (f"dor{'abcdefghij'[n % 20 // 2]}{'kl'[n % 2]}{last}en" for last in "mnpr")
        row["content"] += f" It is about {' and '.join(words)}."
    return rows


def entity(source: str, chunk_id: str, index: int, name: str, kind: str, text: str, key: str = "k") -> Row:
    return {
        "source": source,
        "chunk_id": chunk_id,
        "extraction_key": key,
        "mention_index": index,
        "name": name,
        "type": kind,
        "description": text,
    }


def relation(source: str, chunk_id: str, index: int, src: str, tgt: str, words: str, text: str) -> Row:
    return {
        "source": source,
        "chunk_id": chunk_id,
        "extraction_key": "k",
        "mention_index": index,
        "src": src,
        "tgt": tgt,
        "keywords": words,
        "description": text,
        "weight": 0.1,
    }


def extraction(source: str, chunk_id: str, key: str = "k", status: str = "ok") -> Row:
    return {
        "source": source,
        "chunk_id": chunk_id,
        "extraction_key": key,
        "model": "model",
        "responses": [],
        "rounds": 1,
        "status": status,
        "error": None,
        "error_kind": None,
        "finish_reason": None,
        "input_tokens": 0,
        "cached_input_tokens": 0,
        "output_tokens": 0,
        "cost_usd": 0.0,
        "recipe": RECIPE,
    }


def write(
    folder: Path,
    chunks: Sequence[Row],
    entities: Sequence[Row],
    relations: Sequence[Row],
    extractions: Sequence[Row] | None = None,
    backwards: bool = False,
    readings: Sequence[Row] = (),
    facts: Sequence[Row] = (),
) -> list[MergeInput]:
    """Write the files of every source that has chunks, one version a content; by default all are extracted.

    Those of passes are written where there are readings.
    """
    inputs = []
    if extractions is None:
        extractions = [extraction(*pair) for pair in sorted({(row["source"], row["chunk_id"]) for row in chunks})]
    for source in sorted({row["source"] for row in chunks}, reverse=backwards):
        paths = []
        of_passes = (("readings", READINGS, readings), ("facts", FACTS, facts)) if readings else ()
        for name, schema, rows in (
            ("chunks", schemas.CHUNKS, chunks),
            ("extractions", schemas.EXTRACTIONS, extractions),
            ("entity_mentions", schemas.ENTITY_MENTIONS, entities),
            ("relation_mentions", schemas.RELATION_MENTIONS, relations),
            *of_passes,
        ):
            own = [row for row in rows if row["source"] == source]
            path = folder / source / name / f"{identity.digest(repr(own))}.parquet"
            atomic.write_parquet(path, pa.Table.from_pylist(own[::-1] if backwards else own, schema))
            paths.append((path,))
        inputs.append(MergeInput(source, *paths))
    return inputs


def count_words(texts: list[str]) -> list[int]:
    return [len(text.split()) for text in texts]


class Tables(NamedTuple):
    """The merged tables."""

    entities: pa.Table
    relations: pa.Table
    entity_evidence: pa.Table
    relation_evidence: pa.Table
    merged_facts: pa.Table = MERGED_FACTS.empty_table()
    fact_evidence: pa.Table = FACT_EVIDENCE.empty_table()


def merged_from(
    inputs: Sequence[MergeInput],
    folder: Path,
    model: Summariser,
    previous: Previous | None = None,
    recipe: str = RECIPE,
    **how: Any,
) -> Tables:
    """Merge in a folder below another, and return the rows in the order of the files."""
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        return merged_in(SharedFolder(Path(scratch)), inputs, model, previous, recipe, **how)


def merged_in(
    scratch: Scratch,
    inputs: Sequence[MergeInput],
    model: Summariser,
    previous: Previous | None = None,
    recipe: str = RECIPE,
    *,
    bits: int = 0,
    engine: Engine = LOCAL,
    curation: Curation = NO_DECISIONS,
    terms: TermsMode = "off",
    **settings: Any,
) -> Tables:
    """Merge, and return the rows in the order of the files."""
    rules = MergingSettings.model_validate(settings)
    with open_merge(
        scratch, inputs, Rules(rules, "embedder", terms), previous, engine, Size(bits, small=True), curation
    ) as merge:
        groups = merge.to_summarise(count_words)
        summaries = asyncio.run(summarise(groups, model, load_prompts(None), rules, count_words, 4))
        merged = merge.finish(summaries, recipe)
        tables = {table: pa.concat_tables(map(atomic.read_parquet, paths)) for table, paths in merged.tables().items()}
    return Tables(**tables)
