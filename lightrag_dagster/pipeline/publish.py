"""Publication of the newest generation, and checks of the published one."""

from lightrag_dagster.errors import IntegrityError
from lightrag_dagster.indexes import cypher
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.home_format import refresh
from lightrag_dagster.storage.locking import building
from lightrag_dagster.storage.locks.base import STEP_SECONDS
from lightrag_dagster.storage.manifests import Gates, Manifest
from lightrag_dagster.storage.snapshots import generations
from lightrag_dagster.storage.snapshots.snapshots import publish, require_published


def publish_newest(settings: Settings) -> Manifest:
    """Check the newest generation and publish it, or let it wait for release if a gate says so.

    Raises:
        IntegrityError: the generation is not whole, or the first one has a fault; the published snapshot stays.
        SettingsError: the checks in SQL cannot be read.
        StoreError: a part of it is missing or damaged, or the disk refuses.
    """
    from lightrag_dagster.indexes.integrity import findings, unfinished
    from lightrag_dagster.indexes.views import build_views
    from lightrag_dagster.pipeline.gates import look

    home = Home.of(settings)
    with building(home, STEP_SECONDS) as lock:
        generation = generations.newest_generation(home)
        build_views(generation)
        if missing := unfinished(generation):
            raise IntegrityError(
                f"{generation.id} lacks {', '.join(missing)}: materialise these first, as the job `publish` does"
            )
        problems = findings(generation, read_vectors=False)
        gates = Gates() if problems else look(generation, settings)
        return publish(home, generation, problems, lock, gates=gates, manual=settings.publish == "manual")


def check_published(home: Home) -> list[str]:
    """Return the problems of the published snapshot and, if it is built, of its graph; one line a kind.

    Raises:
        NoSnapshotError: nothing is published yet.
        StoreError: a table or store is damaged.
    """
    from lightrag_dagster.indexes.integrity import findings
    from lightrag_dagster.indexes.views import build_views

    refresh(home)
    generation = generations.fetched(home, require_published(home).snapshot_id)
    if home.bucket:  # each reader makes its own views
        build_views(generation)
    problems = findings(generation)
    if not problems and generation.has(generations.GRAPH_RECORD):
        problems = cypher.graph_findings(generation, generation.path(generations.GRAPH))
    return problems
