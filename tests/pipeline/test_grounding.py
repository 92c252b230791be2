"""The share of names that stand in their chunks, by recipe of the extraction."""

from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from lightrag_dagster.indexes.views_file import derived_sql
from lightrag_dagster.pipeline import grounding
from lightrag_dagster.pipeline.grounding import GroundedNames, grounded_names
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.source_tables import SourceTables
from tests.storage.corpus import OFFICE, RIVER, home_of

RULE = [
    ("Ada Lovelace", "Then came ADA LOVELACE.", True),
    ("Lovelace, Ada", "Ada King, Countess of Lovelace", True),
    ("Ada Lovelace", "Ada's engine", False),
    ("Ann", "in planning", False),
    ("AT&T", "(AT & T)", True),
    ("Müller", "Mu\u0308ller's Haus", True),
    ("Muller", "Müller", False),
    ("ABC123", "ＡＢＣ１２３です", True),
    ("东京大学", "他在东京的大学", True),
    ("东京", "京都", False),
    ("C++", "We write C.", True),
    ("+++", "no such thing", None),
    ("हिन्दी", "यह हिन्दी है", True),
]


@pytest.mark.parametrize(("name", "text", "grounded"), RULE)
@pytest.mark.parametrize("column", ["heading", "context", "content"])
def test_all_words_of_a_name_are_words_of_the_chunk(name: str, text: str, grounded: bool | None, column: str) -> None:
    texts = {"heading": None, "context": None, "content": ""} | {column: text}
    chunk = {"chunk_id": "c", "doc_id": "d", "chunk_index": 1} | texts
    other = chunk | {"chunk_index": 2}
    mention = {
        "entity_id": "e",
        "chunk_id": "c",
        "mention_index": 0,
        "source": "s",
        "extraction_key": "k",
        "name": name,
    }
    answer = {"chunk_id": "c", "extraction_key": "k", "recipe": "r"}
    with duckdb.connect() as connection:
        text_columns = {one: pa.string() for one in ("heading", "context", "content")}
        schema = pa.schema({"chunk_id": pa.string(), "doc_id": pa.string(), "chunk_index": pa.int32()} | text_columns)
        connection.register("chunks", pa.Table.from_pylist([chunk, other], schema))
        connection.register("entity_evidence", pa.Table.from_pylist([mention]))
        connection.register("extractions", pa.Table.from_pylist([answer, answer]))
        connection.execute(derived_sql()["grounding"].replace("CREATE VIEW", "CREATE TEMP VIEW"))
        found = connection.execute("SELECT entity_id, name, recipe, grounded FROM grounding").fetchall()
    assert found == [("e", name, "r", grounded)]


def test_the_share_of_a_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home: Home = home_of(tmp_path, river=RIVER)
    tables = SourceTables(home)
    mentions = tables.read("entity_mentions", "river")
    (whole,) = grounded_names(tables, ["river"])["river"].values()
    assert whole.names == mentions.num_rows
    assert whole.share == whole.grounded / whole.names
    monkeypatch.setattr(grounding, "SAMPLED_CHUNKS", 1)
    (sampled,) = grounded_names(tables, ["river"])["river"].values()
    first = min(mentions["chunk_id"].to_pylist())
    assert sampled.names == mentions["chunk_id"].to_pylist().count(first)


@pytest.mark.long
def test_many_sources_have_what_each_has_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = {"office": OFFICE, "copy": RIVER, "river": RIVER, "empty": {}}
    tables = SourceTables(home_of(tmp_path, **corpus))
    for sampled in (1, 200):
        monkeypatch.setattr(grounding, "SAMPLED_CHUNKS", sampled)
        alone = {source: grounded_names(tables, [source])[source] for source in corpus}
        assert grounded_names(tables, list(corpus)) == alone
    assert alone["river"] == alone["copy"] != alone["office"]


def test_no_name_is_no_fault(tmp_path: Path) -> None:
    assert grounded_names(SourceTables(home_of(tmp_path, empty={})), ["empty"]) == {"empty": {}}
    assert GroundedNames(0, 0).share == 1.0
