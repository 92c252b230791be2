from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from lightrag_dagster.errors import StoreError
from lightrag_dagster.indexes import views as views_module
from lightrag_dagster.indexes.views import add_derived, build_views, open_tables
from lightrag_dagster.readers.elements import find_elements
from lightrag_dagster.schemas import CHUNKS, MERGED_TABLES, RAW_DOCUMENTS, SOURCE_TABLES
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots import generations
from lightrag_dagster.view_schemas import VIEWS
from tests.storage.corpus import OFFICE, RIVER, home_of, merge


def views(home: Home, *sources: str) -> Path:
    generation = merge(home, *sources)
    build_views(generation)
    return generation.path("views.duckdb")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Views for tests that only read."""
    return views(home_of(tmp_path_factory.mktemp("built"), river=RIVER), "river")


def test_a_view_a_table(tmp_path: Path) -> None:
    home = home_of(tmp_path / "it's here", river=RIVER, office=OFFICE)
    with duckdb.connect(views(home, "river", "office"), read_only=True) as connection:
        counts = {
            name: connection.execute(f"SELECT count(*) FROM {name}").fetchall()[0][0]
            for (name,) in connection.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
        }
        assert connection.execute("SELECT source, count(*) FROM chunks GROUP BY source ORDER BY source").fetchall() == [
            ("office", 2),
            ("river", 3),
        ]
    assert set(counts) == {*VIEWS}
    assert counts["raw_documents"] == 3
    assert counts["entities"] == 5


@pytest.mark.long
@pytest.mark.parametrize("sources", [(), ("empty",)])
def test_without_rows_the_columns_are_the_same(tmp_path: Path, sources: tuple[str, ...]) -> None:
    full = home_of(tmp_path / "full", river=RIVER)
    bare = home_of(tmp_path / "bare", empty={})
    with (
        duckdb.connect(views(full, "river"), read_only=True) as expected,
        duckdb.connect(views(bare, *sources), read_only=True) as found,
    ):
        for table in (*SOURCE_TABLES, *MERGED_TABLES):
            query = f"DESCRIBE {table}"
            assert found.execute(query).fetchall() == expected.execute(query).fetchall()
            assert found.execute(f"SELECT count(*) FROM {table}").fetchall() == [(0,)]


def test_elements_name_their_page_and_the_chunks_that_hold_a_part_of_them() -> None:
    text = "First page 🌊.\n\n![A weir](weir.png)\n\nLevels:\n\n| at | level |\n|---|---|\n| 14 | 2.1 |\n\nEnd."
    split = text.index("| 14")
    elements = [one._asdict() for one in find_elements(text)]
    document = {"source": "river", "doc_id": "doc-1", "path": "weir.md", "content": text, "elements": elements}
    plain = {"source": "river", "doc_id": "doc-2", "path": "plain.txt", "content": "No table.", "elements": None}
    spans = [(0, 14), (14, split), (split, len(text))]
    cut = [
        {"doc_id": "doc-1", "chunk_id": f"chunk-{at}", "chunk_index": at, "char_start": start, "char_end": end}
        for at, (start, end) in enumerate(spans)
    ]
    names = ["source", "doc_id", "path", "content", "pages", "elements"]
    documents = pa.schema([RAW_DOCUMENTS.field(name) for name in names])
    chunks = pa.schema([CHUNKS.field(name) for name in cut[0]])
    with duckdb.connect() as connection:
        rows = [document | {"pages": [0, text.index("Levels")]}, plain | {"pages": None}]
        connection.register("raw_documents", pa.Table.from_pylist(rows, documents))
        connection.register("chunks", pa.Table.from_pylist(cut, chunks))
        add_derived(connection, ["document_elements"])
        found = connection.execute(
            "SELECT path, element_index, kind, caption, page, content, chunk_ids FROM document_elements ORDER BY ALL"
        ).fetchall()
    assert found == [
        ("weir.md", 0, "figure", "A weir", 1, "![A weir](weir.png)", ["chunk-1"]),
        ("weir.md", 1, "table", "Levels:", 2, "| at | level |\n|---|---|\n| 14 | 2.1 |", ["chunk-1", "chunk-2"]),
    ]


@pytest.mark.long
def test_building_again_writes_nothing(tmp_path: Path) -> None:
    generation = merge(home_of(tmp_path, river=RIVER), "river")
    build_views(generation)
    before = generation.path("views.duckdb").stat()
    build_views(generation)
    assert generation.path("views.duckdb").stat() == before


@pytest.mark.long
def test_a_check_of_large_tables_keeps_nothing_where_a_builder_cleans(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generation = merge(home_of(tmp_path, river=RIVER), "river")
    monkeypatch.setattr(views_module, "_ROWS_IN_MEMORY", 0)
    with open_tables(generation) as connection:
        connection.execute("SET memory_limit = '20MB'")
        connection.execute("CREATE TEMP TABLE large AS SELECT sha256(i::VARCHAR) AS id FROM range(500000) AS t(i)")
        assert not list(generation.home.generations.glob(".*"))
        generations.remove_leftovers(generation.home)
        assert connection.execute("SELECT count(DISTINCT id) FROM large").fetchall() == [(500000,)]


def test_a_failure_in_the_block_names_the_generation(tmp_path: Path) -> None:
    generation = merge(home_of(tmp_path, river=RIVER), "river")
    with (
        pytest.raises(StoreError, match=f"{generation.id} cannot be read: .*broken; run `lightrag-dagster run`"),
        open_tables(generation) as connection,
    ):
        connection.execute("SELECT error('broken')")


def test_a_missing_table_is_named(tmp_path: Path) -> None:
    generation = merge(home_of(tmp_path, river=RIVER), "river")
    generation.path("relations.parquet").unlink()
    with pytest.raises(StoreError, match=r"relations\.parquet"):
        build_views(generation)
    assert not [path for path in generation.path("x").parent.iterdir() if "views" in path.name]
