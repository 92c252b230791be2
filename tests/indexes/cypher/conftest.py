"""A graph, and a reader of it, for all tests of Cypher."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from lightrag_dagster.indexes.cypher.reader import CypherReader
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.generations import GRAPH, Generation
from lightrag_dagster.storage.snapshots.snapshots import require_published


@pytest.fixture(scope="session")
def graph(published_home: Path) -> Path:
    """The graph of the small snapshot. To be read only."""
    home = Home(published_home)
    return Generation(home, require_published(home).snapshot_id).path(GRAPH)


@pytest.fixture(scope="session")
def reader(graph: Path) -> Iterator[CypherReader]:
    """A reader of the graph, with one process for all tests that do not end it."""
    with closing(CypherReader(graph)) as opened:
        yield opened


@pytest.fixture
def own(graph: Path) -> Iterator[CypherReader]:
    """A reader whose process a test may end."""
    with closing(CypherReader(graph)) as opened:
        yield opened
