"""An import: files, then the first steps of an ingestion, then the stored answers and vectors; or a trial in a copy."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as pa
import yaml

from lightrag_dagster.core.identity import digest, embedding_key, extraction_key, text_digest
from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.core.temporary import temporary_folder
from lightrag_dagster.core.text.names import folded
from lightrag_dagster.errors import SettingsError, SourceError
from lightrag_dagster.imports.files import WrittenDocuments, write_documents
from lightrag_dagster.imports.stored import StoredBase, key_of
from lightrag_dagster.indexes.text_index import passage
from lightrag_dagster.pipeline.chunks import chunk_source
from lightrag_dagster.pipeline.extractions import EXTRACTION, Reading, keep_extractions
from lightrag_dagster.pipeline.ingest import SourceIngestion
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.shards import IngestionStep, Reusable, ingestion
from lightrag_dagster.plan.overlay import overlay
from lightrag_dagster.plan.plan import Plan, make_plan
from lightrag_dagster.schemas import EXTRACTIONS
from lightrag_dagster.settings import Settings, SourceSettings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.stages.documents.connectors.folder import LocalFolder
from lightrag_dagster.stages.documents.sources import Source, why_misnamed
from lightrag_dagster.storage.database.vectors import VectorStore
from lightrag_dagster.storage.files.atomic import disk_errors, write_text
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import building
from lightrag_dagster.storage.tables.shards import shards
from lightrag_dagster.storage.tables.source_tables import SourceTables

_VECTORS_AT_ONCE = 1024


class TakenAnswers(NamedTuple):
    """The numbers of a source's distinct chunks, of those with a row already, and of those that got an answer now.

    `unused` are answers about texts that are cut differently here.
    """

    chunks: int
    known: int
    answered: int
    unused: int


def _take_answers(
    source: str, tables: SourceTables, recipes: Recipes, base: StoredBase, reading: Reading = EXTRACTION
) -> TakenAnswers:
    """Give the chunks of a source without a row the stored answers about their text, as rows of the base's recipe.

    They are the base's claims for the `reading` of a pass. The next run then asks about the others. Raises StoreError.
    """
    step, known, answered = IngestionStep.of(source, tables, recipes), 0, 0
    table, answers = reading.table, base.claims if reading.of_pass else base.answers
    with ingestion(tables, source):
        chunks = tables.require("chunks", source)
        keys = {chunk: key_of(content) for chunk, content, _ in _chunks(tables, source)}
        stored, parts = [], shards(chunks.rows)
        earlier = Reusable.of(table, source, tables, base.recipe)
        ids = pa.table({"chunk_id": sorted(keys)})
        for shard in parts:
            before = [one.select(EXTRACTIONS.names) for one in earlier.rows(step, table, shard)]
            kept, left = keep_extractions(shard.of(ids, "chunk_id"), before, retry_failed=False)
            texts = {chunk: keys[chunk] for chunk in left["chunk_id"].to_pylist()}
            rows = [_row(source, chunk, base, answers[key]) for chunk, key in texts.items() if key in answers]
            made = pa.concat_tables([kept, pa.Table.from_pylist(rows, schema=EXTRACTIONS)])
            stored.append(tables.store(table, source, reading.rows(made)))
            known, answered = known + len(kept), answered + len(rows)
        if answered:
            # No version of chunks, so that the next run makes the table, which asks about the others.
            inputs = {"imported": digest(base.recipe)}
            tables.record(table, source, stored, inputs=inputs, recipe=recipes.of_table(table, source))
    return TakenAnswers(len(keys), known, answered, len(answers.keys() - set(keys.values())))


def _take_vectors(source: str, tables: SourceTables, recipes: Recipes, base: StoredBase) -> int:
    """Store vectors of chunks under the keys of today's embedder, where its text is equal; return their number.

    None is taken if they have other dimensions than the settings say. Raises StoreError.
    """
    wanted = {text_digest(passage(content, context)) for _, content, context in _chunks(tables, source)}
    count, dimensions, found = 0, recipes.settings.embedding.dimensions, dict[str, Vectors]()
    with VectorStore(tables.home.vectors) as store:
        for text, vector in base.vectors():
            if len(vector) != dimensions:
                other = f"its vectors have {len(vector)} dimensions, where embedding.dimensions is {dimensions}"
                base.notes.append(f"{other}; none is taken")
                return 0
            length = float(np.linalg.norm(vector.astype(np.float64)))
            if text_digest(text) in wanted and np.isfinite(length) and length:
                found[embedding_key(recipes.embedder, text)] = (vector / length).astype(np.float32)
            if len(found) == _VECTORS_AT_ONCE:
                count += len(found)
                store.put_many(found)
                found = {}
        store.put_many(found)
    return count + len(found)


def _chunks(tables: SourceTables, source: str) -> Iterator[tuple[str, str, str | None]]:
    """Yield id, text and context of each chunk."""
    for path in tables.open("chunks", source, tables.require("chunks", source).version):
        rows = tables.home.files.read(path, ["chunk_id", "content", "context"])
        yield from zip(*(column.to_pylist() for column in rows.columns), strict=True)


def _row(source: str, chunk: str, base: StoredBase, responses: Sequence[str]) -> dict[str, object]:
    key, nothing = extraction_key(chunk, base.recipe), ("input_tokens", "cached_input_tokens", "output_tokens")
    row = {"source": source, "chunk_id": chunk, "extraction_key": key, "model": base.model, "recipe": base.recipe}
    said = {"responses": list(responses), "rounds": len(responses), "status": "ok", "cost_usd": 0.0}
    return row | said | dict.fromkeys(nothing, 0)


_SCHEMAS, _CLAIMS = Path("readings"), "claims"
"""The folder of schemas where the setting names none, and the pass."""


@dataclass(frozen=True)
class Imported:
    """The result of an import or its trial: documents, chunks, vectors of chunks, and the plan of the next run."""

    documents: WrittenDocuments
    chunks: TakenAnswers
    vectors: int
    plan: Plan


def import_base(
    settings: Settings, source: str, base: StoredBase, *, same_embedder: bool, dry_run: bool = False
) -> Imported:
    """Import a base of another system into a source, which is a plain one from then on; no model is asked.

    With `same_embedder`, its vectors of chunks are those of the configured embedder. A `dry_run` changes nothing.

    Raises:
        SettingsError: `same_embedder` is said of the offline rules.
        SourceError: the source cannot have this name, or is read from elsewhere.
        StoreError: the home is damaged, or the disk refuses.
        BuilderLockedError: another process builds.
    """
    require_plain(settings, source)
    if same_embedder and settings.embedding.provider == "offline":
        raise SettingsError("embedding.provider is offline, whose rules made none of these vectors; set the embedder")
    if dry_run:
        with _trial(settings, source) as trial:
            return _import(trial, source, base, same_embedder=same_embedder, dry_run=True)
    with building(Home.of(settings)):
        return _import(settings, source, base, same_embedder=same_embedder, dry_run=False)


def _import(settings: Settings, source: str, base: StoredBase, *, same_embedder: bool, dry_run: bool) -> Imported:
    if base.schema:
        settings = _with_schema(settings, source, base, dry_run=dry_run)
    recipes, tables, folder = Recipes.of(settings), SourceTables(Home.of(settings)), settings.sources / source
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        written = write_documents(folder, base.documents, settings.documents.max_bytes)
    ingestion = SourceIngestion(source, tables, recipes, Account.of(f"import-{uuid4()}", source, settings.llm))
    ingestion.read()
    if dry_run:
        chunk_source(source, tables, recipes)  # without an embedder, as in a plan
    else:
        ingestion.chunk()
    taken = _take_answers(source, tables, recipes, base)
    if base.schema:
        _take_claims(source, tables, recipes, base)
    vectors = _take_vectors(source, tables, recipes, base) if same_embedder else 0
    return Imported(written, taken, vectors, make_plan(settings, [source]))


def _with_schema(settings: Settings, source: str, base: StoredBase, *, dry_run: bool) -> Settings:
    """Write the file of the pass of claims, unless there is one; return settings with its folder.

    That of a trial is a copy in its home.
    """
    folder = settings.readings or _SCHEMAS
    if settings.readings is None:
        base.notes.append(f"the schema of claims is read when lightrag.yaml has the line `readings: {folder}`")
    with disk_errors(folder):
        if dry_run:
            copy = settings.home / _SCHEMAS
            folder = shutil.copytree(folder, copy) if folder.is_dir() else copy
        if not [*folder.glob(f"{_CLAIMS}.y*ml")]:
            said = yaml.safe_dump({"sources": [source], **base.schema}, sort_keys=False, allow_unicode=True)
            write_text(folder / f"{_CLAIMS}.yaml", said)
    return settings.model_copy(update={"readings": folder})


def _take_claims(source: str, tables: SourceTables, recipes: Recipes, base: StoredBase) -> None:
    """Take the claims of a base as readings of their pass, and note what its file does not read. Raises StoreError."""
    one = recipes.passes[_CLAIMS]
    if not one.reads(source):
        base.notes.append(f"claims do not come along: {_CLAIMS}.yaml reads other sources; name {source} in it as well")
        return
    known = set(map(folded, one.relations))
    if lacking := [name for name in base.schema["relations"] if folded(name) not in known]:
        base.notes.append(f"claims left out, since {_CLAIMS}.yaml lacks their relations: {', '.join(lacking)}")
    _take_answers(source, tables, recipes, base, Reading(one))


def require_plain(settings: Settings, source: str) -> None:
    """Check that a source is a folder among the sources, or can become one; raises SourceError."""
    folder = settings.sources / source
    if reason := why_misnamed(Source(source, LocalFolder(folder))):
        raise SourceError(reason)
    if source in settings.named_sources or folder.is_symlink():
        raise SourceError(f"source {source!r} is read from elsewhere than {folder}; import into another name")


@contextmanager
def _trial(settings: Settings, source: str) -> Iterator[Settings]:
    """Give settings of a copy of the home and of the source; the other sources are read where they are."""
    with overlay(Recipes.of(settings)) as copy, temporary_folder("lightrag-import-") as sources:
        folders = filter(Path.is_dir, settings.sources.iterdir()) if settings.sources.is_dir() else ()
        named = {one.name: SourceSettings(uri=str(one)) for one in folders if not one.name.startswith(".")}
        if named.pop(source, None):
            with disk_errors(sources):
                shutil.copytree(settings.sources / source, sources / source, symlinks=True)
        yield copy.settings.model_copy(update={"sources": sources, "named_sources": named | settings.named_sources})
