"""Rules that both Python and SQL have say the same of everything."""

from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lightrag_dagster.core import identity
from lightrag_dagster.indexes.text_index import passage
from lightrag_dagster.stages.documents.raw_documents import KEPT, with_text
from lightrag_dagster.stages.merging.database import open_small_database
from lightrag_dagster.storage.duckdb import in_memory, spilling
from lightrag_dagster.storage.tables.shards import MOST, Shard

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
"""Every text that UTF-8 can say."""

IDS = st.from_regex(r"(doc|chunk|ent|rel)-[0-9a-f]{32}", fullmatch=True)
CODES = st.text(st.sampled_from("abcdef0123456789/-."), max_size=40)
often = settings(max_examples=20)


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with in_memory() as connection:
        yield connection


def value(database: duckdb.DuckDBPyConnection, expression: str, *parameters: object) -> Any:
    """Return what an expression in SQL is."""
    ((found,),) = database.execute(f"SELECT {expression}", parameters).fetchall()
    return found


@often
@given(TEXTS)
def test_a_digest(database: duckdb.DuckDBPyConnection, text: str) -> None:
    assert value(database, "text_digest($1::VARCHAR)", text) == identity.text_digest(text)


@often
@given(IDS, IDS)
def test_the_id_of_a_relation(database: duckdb.DuckDBPyConnection, one: str, other: str) -> None:
    assert value(database, "relation_id($1, $2)", one, other) == identity.relation_id(one, other)


@often
@given(IDS, CODES, st.none() | st.sampled_from(["", "de", "zh"]))
def test_the_key_of_an_extraction(
    database: duckdb.DuckDBPyConnection, chunk: str, recipe: str, language: str | None
) -> None:
    found = value(database, "extraction_key($1, $2, language := $3::VARCHAR)", chunk, recipe, language)
    assert found == identity.extraction_key(chunk, recipe, language)
    assert value(database, "extraction_key($1, $2)", chunk, recipe) == identity.extraction_key(chunk, recipe)


@often
@given(TEXTS, TEXTS)
def test_the_key_of_an_embedded_text(database: duckdb.DuckDBPyConnection, embedder: str, text: str) -> None:
    found = value(database, "embedding_key($1::VARCHAR, $2::VARCHAR)", embedder, text)
    assert found == identity.embedding_key(embedder, text)


@often
@given(TEXTS, st.none() | TEXTS)
@example("text", "")
def test_a_passage(database: duckdb.DuckDBPyConnection, content: str, context: str | None) -> None:
    assert value(database, "passage($1::VARCHAR, $2::VARCHAR)", content, context) == passage(content, context)


def test_which_documents_have_text(database: duckdb.DuckDBPyConnection) -> None:
    statuses = [*KEPT, "failed", "skipped", "empty", "disabled", ""]
    documents = pa.table({"status": statuses})
    kept = [one for one in statuses if value(database, "has_text($1)", one)]
    assert kept == with_text(documents)["status"].to_pylist() == [*KEPT]


@often
@given(st.lists(IDS, min_size=1, max_size=20).filter(lambda ids: len({one.split("-")[0] for one in ids}) == 1))
def test_the_shard_of_an_id(database: duckdb.DuckDBPyConnection, ids: list[str]) -> None:
    rows = pa.table({"id": ids})
    for bits in range(MOST.bit_length()):
        found = database.execute("SELECT leading_bits(unnest($1::VARCHAR[]), $2)", [ids, bits]).fetchall()
        for one, (number,) in zip(ids, found, strict=True):
            assert one in Shard(number, 1 << bits).of(rows, "id")["id"].to_pylist()


def test_every_database_has_the_macros(tmp_path: Any) -> None:
    with in_memory() as first, spilling(tmp_path) as second, open_small_database({}) as third:
        for database in (first, second, third):
            assert value(database, "text_digest('text')") == identity.text_digest("text")


@pytest.mark.parametrize("sign", ["?", "[", "[a]", "\\", "]", "a"])
def test_of_the_signs_of_patterns_only_a_star_is_one(database: duckdb.DuckDBPyConnection, sign: str) -> None:
    path = f"x/{sign} b.md"
    for pattern in (path, f"{sign}*", f"*{sign}*", f"x/{sign}*"):
        assert value(database, "has_path($1, $2)", path, pattern) is not pattern.startswith(f"{sign}*")
        assert not value(database, "has_path($1, $2)", "x/c d.md", pattern)


@pytest.mark.parametrize("one", ["Νίκος Παππάς", "Straße", "ǅ", "Zoe\u0308"])
def test_authors_and_tags_in_any_case(database: duckdb.DuckDBPyConnection, one: str) -> None:
    assert value(database, "caseless($1)", one) == value(database, "caseless($1)", one.upper())
    assert value(database, "caseless('one') = caseless('other')") is False
