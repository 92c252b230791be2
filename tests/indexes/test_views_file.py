"""The file of views that analysts open: its version, its comments, and that it follows its home."""

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from lightrag_dagster.indexes.views import build_views
from lightrag_dagster.indexes.views_file import derived_sql, is_current
from lightrag_dagster.indexes.views_refresh import refresh_views
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.storage.snapshots.snapshots import link_views
from lightrag_dagster.view_schemas import DESCRIPTIONS, VIEWS
from tests.cli.test_cli import command
from tests.exports.test_exports import no_file_larger
from tests.storage.corpus import RIVER, home_of, merge

READ_BY_1_0 = 64
"""Version of the storage of DuckDB 1.0, which all later ones read."""

OLDEST = Path(__file__).parents[2] / ".venv" / "duckdb"
"""The oldest DuckDB that docs/sql-and-cypher.md names, which `make test-long` installs."""

READ_ALL = """
import sys, duckdb
with duckdb.connect(sys.argv[1], read_only=True) as connection:
    views = connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY ALL").fetchall()
    rows = {name: len(connection.execute(f'SELECT * FROM "{name}"').fetchall()) for (name,) in views}
print(duckdb.__version__, rows)
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Generation:
    """A generation with its views, to be read only."""
    generation = merge(home_of(tmp_path_factory.mktemp("built"), river=RIVER), "river")
    build_views(generation)
    return generation


@pytest.fixture
def home(published_home: Path, tmp_path: Path) -> Home:
    """A copy of a home with a snapshot, made as `cp -r` does, beside the original."""
    return Home(Path(shutil.copytree(published_home, tmp_path / "it's a copy", symlinks=True)))


@pytest.fixture
def generation(home: Home) -> Generation:
    """The snapshot, with views of its own."""
    refresh_views(home)
    (folder,) = home.generations.iterdir()
    return Generation(home, folder.name)


def read_paths(path: Path) -> str:
    """Return the definition of a view, which has the paths that it reads."""
    with duckdb.connect(str(path), read_only=True) as connection:
        (found,) = connection.execute("SELECT sql FROM duckdb_views() WHERE view_name = 'entities'").fetchall()
        assert connection.execute("SELECT count(*) > 0 FROM entities").fetchall() == [(True,)]
        return str(found[0])


def test_duckdb_1_can_read_it(built: Generation) -> None:
    assert int.from_bytes(built.path("views.duckdb").read_bytes()[12:20], "little") == READ_BY_1_0
    with duckdb.connect(str(built.path("views.duckdb")), read_only=True) as connection:
        definitions = connection.execute("SELECT sql FROM duckdb_views() WHERE NOT internal").fetchall()
    assert len(definitions) == len(VIEWS)
    assert not [sql for (sql,) in definitions if "lambda" in sql.lower() or "->" in sql]
    assert not [name for name, sql in derived_sql().items() if " if(" in sql]  # DuckDB 1 has no such function


@pytest.mark.long
@pytest.mark.skipif(not OLDEST.exists(), reason="`make test-long` installs the oldest DuckDB")
def test_the_oldest_duckdb_reads_every_view(built: Generation) -> None:
    def read(**environment: str) -> list[str]:
        command = [sys.executable, "-c", READ_ALL, str(built.path("views.duckdb"))]
        done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.split(maxsplit=1)

    (newest, expected), (oldest, found) = read(), read(PYTHONPATH=str(OLDEST))
    assert (oldest, found) == ("1.1.0", expected)
    assert (newest, set(VIEWS)) == (duckdb.__version__, set(ast.literal_eval(found)))


def test_every_view_and_column_has_its_comment(built: Generation) -> None:
    with duckdb.connect(str(built.path("views.duckdb")), read_only=True) as connection:
        views = connection.execute("SELECT view_name, comment FROM duckdb_views() WHERE NOT internal").fetchall()
        columns = connection.execute(
            "SELECT table_name, column_name, comment FROM duckdb_columns() WHERE NOT internal ORDER BY ALL"
        ).fetchall()
    assert dict(views) == DESCRIPTIONS
    assert columns == sorted(
        (table, field.name, field.metadata[b"description"].decode())
        for table, schema in VIEWS.items()
        for field in schema
    )


@pytest.mark.long
def test_a_copy_of_a_home_reads_its_own_tables(home: Home, published_home: Path) -> None:
    (views,) = home.generations.glob("*/views.duckdb")
    assert str(published_home) in read_paths(views)
    refresh_views(home)
    quoted = str(home.root).replace("'", "''")
    assert quoted in read_paths(views)
    assert str(published_home) not in read_paths(views)
    assert home.views.readlink() == views.relative_to(home.root)
    (original,) = published_home.glob("generations/*/views.duckdb")
    assert str(published_home) in read_paths(original)


@pytest.mark.long
@pytest.mark.parametrize("arguments", [["status"], ["status", "--json"], ["run"]], ids=" ".join)
def test_status_and_run_make_the_views_of_a_moved_home_again(
    home: Home,
    published_home: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
) -> None:
    sources = str(published_home.parent / "sources")
    moved = home.root.rename(home.root.with_name("moved"))
    code, _, errors = command(capfd, monkeypatch, "--home", str(moved), "--sources", sources, *arguments)
    assert (code, errors) == (0, "")
    assert str(moved) in read_paths(moved / "views.duckdb")


def test_views_that_fit_stay_as_they_are(generation: Generation) -> None:
    before = [generation.path(name).stat() for name in ("views.duckdb", "views.json")]
    for verify in (False, True):
        refresh_views(generation.home, verify=verify)
    assert [generation.path(name).stat() for name in ("views.duckdb", "views.json")] == before


def shorten(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("views.duckdb", Path.unlink),
        ("views.duckdb", shorten),
        ("views.json", Path.unlink),
        ("views.json", shorten),
        ("views.json", lambda path: path.write_text(path.read_text().replace('"tables": "', '"tables": "0'))),
    ],
)
def test_views_that_are_damaged_or_of_another_version_are_made_again(
    generation: Generation, name: str, damage: Callable[[Path], object]
) -> None:
    damage(generation.path(name))
    assert not is_current(generation)
    refresh_views(generation.home)
    assert is_current(generation, verify=True)
    assert read_paths(generation.home.views)


@pytest.mark.long
def test_other_content_is_found_by_reading_it(generation: Generation) -> None:
    path = generation.path("views.duckdb")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    refresh_views(generation.home)
    assert path.read_bytes() == content
    refresh_views(generation.home, verify=True)
    assert path.read_bytes() != content


@pytest.mark.long
def test_where_nothing_can_be_written_everything_stays(
    home: Home, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, published_home: Path
) -> None:
    (views,) = home.generations.glob("*/views.duckdb")
    for path in (views, home.views):  # root may write anywhere, but not over a folder
        path.unlink()
        path.mkdir()
        (path / "file").touch()
    sources = str(published_home.parent / "sources")
    assert command(capfd, monkeypatch, "--home", str(home.root), "--sources", sources, "status")[::2] == (0, "")
    assert not list(home.root.rglob(".*views*"))


@pytest.mark.parametrize("size", [0, 100_000])
def test_where_the_disk_has_no_room_they_stay_missing(generation: Generation, size: int) -> None:
    generation.path("views.duckdb").unlink()
    with no_file_larger(size):
        refresh_views(generation.home)
    assert not is_current(generation)
    refresh_views(generation.home)
    assert is_current(generation, verify=True)


def test_a_link_follows_and_takes_the_place_of_a_copied_file(generation: Generation) -> None:
    link = generation.home.views
    link.unlink()
    link.write_bytes(b"as a copy without links has it")
    refresh_views(generation.home)
    assert link.samefile(generation.path("views.duckdb"))
    link_views(generation.home, "gen-other")
    assert link.readlink() == Path("generations/gen-other/views.duckdb")
