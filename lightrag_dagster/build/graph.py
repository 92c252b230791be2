"""Building the graph of a generation: arrays before it is published, a large graph database after that.

Each function is a step under the builder's lock, and does nothing if the step is finished.
"""

from lightrag_dagster.settings import Settings
from lightrag_dagster.storage import files, generations
from lightrag_dagster.storage.generations import Generation
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.lock import building
from lightrag_dagster.storage.manifest import Graph, Manifest
from lightrag_dagster.storage.snapshots import require_current, without_graph

LOCK_SECONDS = 3600.0
"""How long a step waits for another builder: longer than any merge, shorter than a night."""

_COUNTED = ("chunks", "entities", "relations")


def build_graph(settings: Settings) -> tuple[Generation, Graph | None]:
    """Build the adjacency arrays of the newest generation, and its graph database unless that is large.

    Return the generation, and the counts of the graph database if it is built.

    Raises:
        IntegrityError: the tables, or the graph database, are not sound.
        StoreError: a table cannot be read, or the disk refuses.
    """
    from lightrag_dagster.indexes import adjacency, integrity

    home = Home.of(settings)
    with building(home, LOCK_SECONDS):
        generation = generations.newest(home)
        if not adjacency.has_adjacency(generation.path(generations.ADJACENCY)):
            adjacency.build_adjacency(
                generation.path(generations.ADJACENCY),
                generation.read_table("entities"),
                generation.read_table("relations"),
                generation.table_files("chunks"),
            )
        rows = sum(files.count_rows(path) for table in _COUNTED for path in generation.table_files(table))
        is_large = rows > settings.graph.before_publication_rows
        counts = None if is_large else integrity.build_graph(generation)
    return generation, counts


def build_published_graph(home: Home) -> Manifest:
    """Build the graph database of the current snapshot, and return the snapshot.

    Raises:
        NoSnapshotError: nothing is published yet.
        IntegrityError, StoreError: see `build_graph`.
    """
    from lightrag_dagster.indexes import integrity

    with building(home, LOCK_SECONDS):
        generations.remove_leftovers(home)
        if generation := without_graph(home):
            integrity.build_graph(generation)
        return require_current(home)
