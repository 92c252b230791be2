"""Limits of a row: its lists and descriptions are of chunks taken in turn over sources, all else is of all evidence."""

from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as bounds
from hypothesis import strategies as st

from lightrag_dagster.core.identity import document_id
from tests.stages.merging.tables import Row, Summariser, Tables, chunk, entity, merged_from, relation, write

Place = tuple[str, str, int]
"""Source, path and number of a chunk."""

UNLIMITED = {"max_chunks": 1_000}
LISTED = {"chunk_ids", "doc_ids", "file_paths", "description", "keywords", "capped", "summary_recipe"}
HASHES = {"descriptions_hash", "embedding_key", "row_hash"}


def merged(folder: Path, places: list[Place], bits: int = 0, **rules: Any) -> Tables:
    """Merge chunks that all mention one entity, in two spellings and types, and its relation to another."""
    rules = {"summary_min_descriptions": 1_000, "summary_min_tokens": 1_000_000} | rules
    chunks = [chunk(source, path, number, f"chunk-{number:02}") for source, path, number in places]
    entities, relations = list[Row](), list[Row]()
    for source, number in sorted({(source, number) for source, _, number in places}):
        where, name = f"chunk-{number:02}", "Weir" if number % 3 else "WEIR"
        entities.append(entity(source, where, 0, name, "place" if number % 2 else "thing", f"said {number:02}"))
        relations.append(
            relation(source, where, 0, name, "Named by relations", f"word {number:02}", f"tie {number:02}")
        )
    return merged_from(write(folder, chunks, entities, relations), folder, Summariser(), bits=bits, **rules)


def in_turn(places: dict[str, Place], most: int, *, first: bool) -> set[str]:
    """Return the members of a row that are listed, of its members with their places."""
    sources = sorted({source for source, *_ in places.values()})
    own = [
        sorted((one for one in places if places[one][0] == source), key=lambda one: places[one]) for source in sources
    ]
    rounds = zip_longest(*(members if first else members[::-1] for members in own))
    return set([one for members in rounds for one in members if one is not None][:most])


def ids_of(rows: list[Row]) -> dict[str, Row]:
    return {row.get("entity_id") or row["relation_id"]: row for row in rows}


@pytest.mark.long
@given(
    places=st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from(("1.md", "2.md")), st.integers(0, 9)),
        min_size=1,
        max_size=16,
        unique=True,
    ),
    most=st.integers(1, 7),
    method=st.sampled_from(("KEEP", "FIFO")),
)
@bounds(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_counts_are_of_all_evidence_and_lists_are_in_turn_over_sources(
    tmp_path_factory: pytest.TempPathFactory, places: list[Place], most: int, method: str
) -> None:
    folder = tmp_path_factory.mktemp("limits")
    limits: dict[str, Any] = {"max_chunks": most, "chunk_limit_method": method}
    whole, limited = merged(folder, places, **UNLIMITED), merged(folder, places, **limits)
    assert limited == merged(folder, places[::-1], bits=1, **limits)

    chunks = {f"chunk-{number:02}": min(one for one in places if one[2] == number) for _, _, number in places}
    documents = {document_id(source, path): (source, path, 0) for source, path, _ in places}
    listed = in_turn(chunks, most, first=method == "KEEP")
    cited = in_turn(documents, most, first=method == "KEEP")
    numbers = sorted(one.removeprefix("chunk-") for one in listed)
    for table, said in (("entities", "said"), ("relations", "tie")):
        all_rows = ids_of(getattr(whole, table).to_pylist())
        for key, row in ids_of(getattr(limited, table).to_pylist()).items():
            assert {name: row[name] for name in row.keys() - LISTED - HASHES} == (
                {name: all_rows[key][name] for name in row.keys() - LISTED - HASHES}
            )
            assert (row["chunk_count"], row["document_count"]) == (len(chunks), len(documents))
            assert row["sources"] == sorted({source for source, _, _ in places})
            assert row["chunk_ids"] == sorted(listed, key=lambda one: chunks[one])
            assert row["doc_ids"] == sorted(cited)
            assert row["file_paths"] == sorted("/".join(documents[one][:2]) for one in cited)
            assert row["capped"] == (len(chunks) > most or len(documents) > most)
            words = "tie" if row.get("mention_count") == 0 else said
            assert row["description"] == "<SEP>".join(f"{words} {number}" for number in numbers)
            assert row.get("keywords", "") == ",".join(f"word {number}" for number in numbers if "keywords" in row)


def test_a_hub_in_five_sources_names_them_all(tmp_path: Path) -> None:
    """What README asks for: a limit of 200 cut the sources that come last by name."""
    places = [(source, f"{number}.md", 100 * at + number) for at, source in enumerate("abcde") for number in range(30)]
    (hub,) = (row for row in merged(tmp_path, places, max_chunks=10).entities.to_pylist() if row["mention_count"])
    assert (hub["sources"], hub["mention_count"], hub["chunk_count"]) == (list("abcde"), 150, 150)
    assert hub["chunk_ids"] == [f"chunk-{100 * at + number:02}" for at in range(5) for number in range(2)]
    assert hub["capped"]


def test_weights_are_of_all_mentions(tmp_path: Path) -> None:
    places = [("a", f"{number}.md", number) for number in range(6)]
    (tie,) = merged(tmp_path, places, max_chunks=1).relations.to_pylist()
    assert (tie["mention_count"], tie["weight"], tie["keywords"]) == (6, pytest.approx(0.6), "word 00")
