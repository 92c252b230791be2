"""A small published knowledge base, made by the engine without Dagster."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from lightrag_dagster.errors import SettingsError, SourceError, one_line
from lightrag_dagster.pipeline.graph import build_published_graph
from lightrag_dagster.pipeline.ingest import STEPS, SourceIngestion
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.scopes import publish_merged, publish_scopes
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.resources.knowledge_base import KnowledgeBaseResource
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.stages.documents.sources import Source
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import building
from lightrag_dagster.storage.manifests import Manifest
from lightrag_dagster.storage.tables.acceptance import Acceptance, Bounds, judge
from lightrag_dagster.storage.tables.source_tables import SourceTables

_OFFLINE: dict[str, object] = {"llm": {"provider": "offline"}, "rerank": {"provider": "none"}, "database": ""}


def build_knowledge_base(
    folder: Path, documents: Mapping[str, str | bytes], **settings: object
) -> KnowledgeBaseResource:
    """Build and publish a knowledge base of a few documents, and return the resource that asks it.

        knowledge = build_knowledge_base(tmp_path, {"notes/river.md": "Marta Lindqvist maintains Halden Weir."})
        dg.materialize([briefing], resources={"knowledge": knowledge})

    A second call with the same folder builds it again, with these documents and no others. Rules find
    the entities and embed the texts, unless `settings` say otherwise: LIGHTRAG_… variables and lightrag.yaml cannot.

    Args:
        folder: An empty folder, or that of an earlier call; the home is `home` in it, and `sources` has the documents.
        documents: Source, "/" and path of each document → its text, or its bytes.
        settings: Other settings, as in lightrag.yaml.

    Raises:
        SettingsError: a setting cannot be used.
        SourceError: a name has no source, or a source cannot be merged, as when a document cannot be read.
    """
    if given := settings.keys() & {"home", "sources"}:
        raise SettingsError(
            f"setting {min(given)}: it is in the folder that build_knowledge_base is given; leave it out"
        )
    offline = _OFFLINE | {"embedding": {"provider": "offline"}, "documents": {"accept_deletes": True}}
    chosen = load_settings(**offline | settings | {"home": folder / "home", "sources": folder / "sources"})
    chosen = chosen.changed(llm={"mode": "realtime"})  # batches would be awaited
    _write(chosen, documents)
    situation = Situation.looking(chosen)
    with building(situation.home, 0):
        for source in situation.sources.values():
            accepted = ingest(source, SourceTables(situation.home), situation.recipes)
            if not accepted.accepted:
                raise SourceError(f"source {source.name!r} cannot be merged: {accepted.reason}; mend its documents")
        publish(situation.recipes)
        if chosen.builds_graph:
            build_published_graph(situation.home)
    database = chosen.database.get_secret_value() if chosen.database else ""
    own = {name: value for name, value in {**_OFFLINE, **settings}.items() if name != "database"}
    return KnowledgeBaseResource(home=str(chosen.home), database=database, settings=own)


def _write(settings: Settings, documents: Mapping[str, str | bytes]) -> None:
    """Have the folder of sources hold exactly these documents; one that is not of an earlier call is left alone."""
    for name in documents:
        source, *path = name.split("/")
        if not path or any(part.startswith(".") or not part.isprintable() or not part for part in (source, *path)):
            raise SourceError(f"document {name!r} is in no source; name it SOURCE/PATH, as notes/river.md")
    if not documents:
        raise SourceError("build_knowledge_base needs one document at least")
    sources = settings.sources
    if sources.is_symlink() or (sources.exists() and not Home.of(settings).format.exists()):
        raise SourceError(f"{sources} is not of an earlier build_knowledge_base, and stays; give an empty folder")
    try:
        if sources.exists():
            shutil.rmtree(sources)
        for name, content in documents.items():
            file = sources / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.encode() if isinstance(content, str) else content)
    except (OSError, UnicodeError) as error:
        raise SourceError(f"the documents cannot be written: {one_line(error)}") from error


def ingest(source: Source, tables: SourceTables, recipes: Recipes, account: Account | None = None) -> Acceptance:
    """Make every table of one source of the settings, which ask in real time; raises as the steps do."""
    ingestion = SourceIngestion(source.name, tables, recipes, account or Account(""))
    for step in STEPS.values():
        step(ingestion)
    return judge(tables, source.name, Bounds.of(recipes.settings))


def publish(
    recipes: Recipes, *, backfill: bool = False, account: Account | None = None, database: bool = True
) -> Manifest:
    """Merge what is accepted, and publish it; without `database`, or if it is large, the graph is still to be built.

    Raises as the steps do.
    """
    manifest, _ = publish_merged(recipes, account, backfill=backfill, database=database)
    if recipes.settings.scopes or Home.of(recipes.settings).scopes.exists():
        publish_scopes(Situation.looking(recipes.settings), account, backfill=backfill)
    return manifest
