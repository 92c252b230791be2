"""An import: files, then the first steps of an ingestion, then the stored answers; or a trial of it in a copy."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import yaml

from lightrag_dagster.core.temporary import temporary_folder
from lightrag_dagster.core.text.names import folded
from lightrag_dagster.errors import SettingsError, SourceError
from lightrag_dagster.imports.answers import TakenAnswers, take_answers, take_vectors
from lightrag_dagster.imports.files import WrittenDocuments, write_documents
from lightrag_dagster.imports.stored import StoredBase
from lightrag_dagster.pipeline.chunks import chunk_source
from lightrag_dagster.pipeline.documents import read_source
from lightrag_dagster.pipeline.extractions import Reading
from lightrag_dagster.pipeline.ingest import SourceIngestion, source_to_read
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.plan.overlay import overlay
from lightrag_dagster.plan.plan import Plan, make_plan
from lightrag_dagster.settings import Settings, SourceSettings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.stages.documents.connectors.folder import LocalFolder
from lightrag_dagster.stages.documents.sources import Source, why_misnamed
from lightrag_dagster.storage.files.atomic import disk_errors, write_text
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import building
from lightrag_dagster.storage.tables.source_tables import SourceTables

_SCHEMAS, _CLAIMS = Path("readings"), "claims"
"""The folder of schemas where the setting names none, and the pass."""
_UNASKED = "this trial describes no image and cuts by recursive in place of semantic; the import asks models for both"


@dataclass(frozen=True)
class Imported:
    """The result of an import or its trial: documents, chunks, vectors of chunks, and the plan of the next run.

    `cost_usd` is what it spent on describing figures and cutting by meaning; None if no model was to be asked.
    """

    documents: WrittenDocuments
    chunks: TakenAnswers
    vectors: int
    plan: Plan
    cost_usd: float | None = None


def import_base(
    settings: Settings, source: str, base: StoredBase, *, same_embedder: bool, dry_run: bool = False
) -> Imported:
    """Import a base of another system into a source, which is a plain one from then on.

    No model is asked, except where the settings have one describe images or cut by meaning, and none by a `dry_run`,
    which changes nothing. With `same_embedder`, its vectors of chunks are those of the configured embedder.

    Raises:
        SettingsError: `same_embedder` is said of the offline rules.
        SourceError: the source cannot have this name, or is read from elsewhere.
        StoreError: the home is damaged, or the disk refuses.
        BuilderLockedError: another process builds.
    """
    require_importable(settings, source, same_embedder=same_embedder)
    if dry_run:
        with _trial(settings, source) as trial:
            return _import(trial, source, base, same_embedder=same_embedder, dry_run=True)
    with building(Home.of(settings)):
        return _import(settings, source, base, same_embedder=same_embedder, dry_run=False)


def _import(settings: Settings, source: str, base: StoredBase, *, same_embedder: bool, dry_run: bool) -> Imported:
    if base.schema:
        settings = _with_schema(settings, source, base, dry_run=dry_run)
    recipes = Recipes.of(settings)
    tables = SourceTables(Home.of(settings))
    folder = settings.sources / source
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        written = write_documents(folder, base.documents, settings.documents.max_bytes, is_whole=base.is_whole)
    account = f"import-{uuid4()}"
    asks = recipes.describes_figures or recipes.compares_meaning
    if dry_run:  # without models, as in a plan
        base.notes.extend([_UNASKED] if asks else [])
        read_source(source_to_read(settings, source), tables, recipes)
        chunk_source(source, tables, recipes)
    else:
        ingestion = SourceIngestion(source, tables, recipes, Account.of(account, source, settings.llm))
        ingestion.read()
        ingestion.chunk()
    taken = take_answers(source, tables, recipes, base)
    if base.schema:
        _take_claims(source, tables, recipes, base)
    vectors = take_vectors(source, tables, recipes, base) if same_embedder else 0
    spent = Ledger(Home.of(settings).ledger).spent(account) if asks and not dry_run else None
    return Imported(written, taken, vectors, make_plan(settings, [source]), spent)


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
    take_answers(source, tables, recipes, base, Reading(one))


def require_importable(settings: Settings, source: str, *, same_embedder: bool) -> None:
    """Check that a source is a folder among the sources, or can become one; raises as `import_base`."""
    if same_embedder and settings.embedding.provider == "offline":
        raise SettingsError("embedding.provider is offline, whose rules made none of these vectors; set the embedder")
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
