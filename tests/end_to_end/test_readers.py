"""Readers beside builders: questions, analysts and a second builder, while snapshots come and go."""

import subprocess
import sys
from pathlib import Path

import duckdb
import kuzu
import pytest

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.errors import BuilderLockedError
from lightrag_dagster.settings import RetentionSettings, Settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import building
from lightrag_dagster.storage.snapshots.gc import collect_garbage
from lightrag_dagster.storage.snapshots.generations import GRAPH, VIEWS, Generation
from lightrag_dagster.storage.snapshots.snapshots import pin
from tests.support import FLOOD, RIVER, build, published, snapshot_contents, write_source

QUESTION = "Who maintains the gauge at Halden Weir?"
ROOT = Path(__file__).parents[2]

# Asks again and again; ends with an error as soon as an answer differs, and by itself when its input is closed.
READER = f"""
import select, sys
from lightrag_dagster import KnowledgeBase

with KnowledgeBase.open(sys.argv[1]) as knowledge:
    first = knowledge.context({QUESTION!r}, mode="mix")
    print(knowledge.snapshot_id, flush=True)
    times = 0
    while not select.select([sys.stdin], [], [], 0.1)[0]:
        assert knowledge.context({QUESTION!r}, mode="mix") == first
        times += 1
    print(times, flush=True)
"""

BUILDER = """
import sys
from lightrag_dagster.settings import load_settings
from tests import support

outcome = getattr(support, sys.argv[3])(load_settings(home=sys.argv[1], sources=sys.argv[2]))
print(outcome.failed, outcome.states.manifest.snapshot_id)
"""


def build_year(settings: Settings, year: int, *, graph: bool = False) -> str:
    """Publish a snapshot in which the gauge was built in that year, at the station of its last digits."""
    river = RIVER.replace("2019", f"{year} at Station {year - 2000}")
    write_source(settings, "notes", {"river.md": river, "flood.txt": FLOOD})
    build(settings, graph=graph)
    return published(settings).snapshot_id


def process(script: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.long
def test_a_reader_keeps_its_snapshot_through_fifty_publications(settings: Settings) -> None:
    home = Home(settings.home)
    first = build_year(settings, 2000)
    with process(READER, settings.home) as reader:
        assert reader.stdout
        assert reader.stdout.readline().strip() == first
        seen = {build_year(settings, 2001 + number) for number in range(50)}
        collect_garbage(home, RetentionSettings(snapshots=1, grace_days=0), dry_run=False)
        output, errors = reader.communicate("\n", timeout=60)
    assert reader.returncode == 0, errors
    assert int(output) > 0
    assert len(seen - {first}) == 50


@pytest.mark.long
def test_an_analyst_holds_up_no_run_and_sees_one_state(settings: Settings) -> None:
    home = Home(settings.home)
    first = Generation(home, build_year(settings, 2001, graph=True))
    names = "SELECT name FROM entities ORDER BY name"
    nodes = "MATCH (entity:Entity) RETURN entity.name ORDER BY entity.name"
    with (
        duckdb.connect(str(first.path(VIEWS)), read_only=True) as tables,
        kuzu.Database(str(first.path(GRAPH)), read_only=True) as database,
        kuzu.Connection(database) as graph,
    ):
        rows = tables.execute(names).fetchall()
        cursor = tables.cursor()
        cursor.execute("SELECT e.name, m.description FROM entities e JOIN entity_evidence m USING (entity_id)")
        assert cursor.fetchone()

        second = build_year(settings, 2002)

        assert second != first.id
        assert cursor.fetchall()
        assert tables.execute(names).fetchall() == rows
        found = graph.execute(nodes)
        assert isinstance(found, kuzu.QueryResult)
        assert found.get_all() == [list(row) for row in rows]
        assert ("Station 1",) in rows
        assert ("Station 2",) not in rows

        # A name keeps a snapshot for somebody who opened its files without the library.
        pin(home, "analysis", first.id)
        build_year(settings, 2003)
        collect_garbage(home, RetentionSettings(snapshots=1, grace_days=0), dry_run=False)
        assert tables.execute(names).fetchall() == rows


@pytest.mark.long
@pytest.mark.parametrize("ways", [("build", "build"), ("build", "run"), ("run", "run")])
def test_two_builders_at_once_take_turns_or_are_refused(
    settings: Settings, tmp_path: Path, ways: tuple[str, str]
) -> None:
    write_source(settings, "notes", {"river.md": RIVER, "flood.txt": FLOOD})
    builders = [process(BUILDER, settings.home, settings.sources, way) for way in ways]
    ended = [(*builder.communicate(timeout=120), builder.returncode) for builder in builders]

    refused = [errors for _, errors, code in ended if code]
    assert len(refused) < 2
    assert all("is building in" in errors for errors in refused)
    clean = settings.model_copy(update={"home": tmp_path / "clean"})
    build(clean)
    assert snapshot_contents(settings) == snapshot_contents(clean)


@pytest.mark.long
def test_a_builder_that_waits_too_long_says_who_is_in_its_way(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    holder = "import sys\nfrom pathlib import Path\nfrom lightrag_dagster.storage.home import Home\n"
    holder += "from lightrag_dagster.storage.locking import building\n"
    holder += "with building(Home(Path(sys.argv[1])), 5):\n    print('held', flush=True)\n    sys.stdin.readline()\n"
    write_source(settings, "notes", {"river.md": RIVER})
    with process(holder, settings.home) as other:
        assert other.stdout
        assert other.stdout.readline().strip() == "held"
        with (
            pytest.raises(BuilderLockedError, match=f"process {other.pid} on .* is building"),
            building(Home(settings.home), 0.1),
        ):
            pass
        other.communicate("\n")
    build(settings)
    with KnowledgeBase.open(settings=settings) as knowledge:
        assert knowledge.retrieve(QUESTION).entities
