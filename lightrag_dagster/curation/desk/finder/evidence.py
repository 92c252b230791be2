"""Evidence for and against two entities being one, as numbers, for all pairs that met.

A word counts by the bits that it says, compared with those that pick one entity out of all, so that the same evidence
counts as much in a small knowledge base as in a large one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core.identity import name_key
from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.curation.desk.finder.neighbours import Numbers, Places

Floats = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]

_TILE = 50_000
_NAME_WORDS = 12
_LEAST_ENTITIES = 1_000
"""In a small knowledge base every word is rare: to pick one out of all says at least as much as here."""
_COMPARED_CHARACTERS = 200
_SAMPLE = 2_000
_NO_TYPES = ("", "unknown", "other", "thing", "term")  # thing of columns, term of counting


@dataclass(frozen=True)
class PairEvidence:
    """Pairs of places of entities, and one number a pair of each kind of evidence."""

    one: Places
    other: Places
    rules: npt.NDArray[np.uint8]
    likeness: Floats
    """Likeness of the names as strings, in any order of words or without spaces, by RapidFuzz; 0 to 1."""
    beginning: Floats
    """Likeness of the names that weighs their beginning (Jaro-Winkler); 0 to 1."""
    agreed: Floats
    """Share of the words of a name, by what they say, that the other name has; of the name of which it is less."""
    missing: Floats
    """Bits of the words that the other name lacks; of the name of which it is less. In parts of picking one of all."""
    most_missing: Floats
    """The same of the one word that says most."""
    marks_differ: Flags
    """True if one name has a number or a single letter that the other lacks, even as an initial."""
    same_name: Flags
    """True if the names have one key, as of two entities that a decision split."""
    name_says: Floats
    """Bits of the words that both names have."""
    description_says: Floats
    """Bits of the words that both descriptions have and neither name."""
    numbers_differ: Floats
    """Share of the numbers of the shorter description that the other lacks; 0 if one has none."""
    text: Floats
    """Likeness of the beginnings of the descriptions as strings; 0 to 1."""
    cosine: Floats | None
    nearness: Floats
    """The cosine above that of two entities at random; 0 to 1, and 0 without vectors."""
    neighbours: Floats
    """Bits of the neighbours in the graph that both have."""
    together: Floats
    """Share of the chunks of the entity with fewer that mention the other one too: what one text says of two names is
    the same text twice, and mostly of two things."""
    related: Flags
    """True if a relation joins the two."""
    types_differ: Flags


def collect(
    connection: duckdb.DuckDBPyConnection, entities: pa.Table, relations: pa.Table | None, vectors: Numbers | None
) -> PairEvidence:
    """Collect the evidence of the pairs in the table `kept`, in order, whose entities are in order of their ids."""
    from rapidfuzz.distance import Indel, JaroWinkler  # slow to import

    kept = connection.sql("SELECT * FROM kept ORDER BY a, b").fetchnumpy()
    one, other = kept["a"], kept["b"]
    connection.execute(f"SET VARIABLE name_words = {_NAME_WORDS}")
    connection.execute(read_sql(__package__, "sql/evidence"))
    agreed = connection.sql("FROM agreed").fetchnumpy()
    folded = connection.sql("SELECT text, compact FROM name ORDER BY n").fetchnumpy()
    ordered = np.array([" ".join(sorted(text.split())) for text in folded["text"]], dtype=object)
    bits = np.log2(max(entities.num_rows, _LEAST_ENTITIES))
    name_words, words, numbers = (_matrix(connection, entities.num_rows, of) for of in _WORDS)
    graph = _neighbours(entities, relations)
    names, types = (np.array(entities[column].to_pylist(), dtype=object) for column in ("name", "type"))
    beginnings = pc.utf8_slice_codeunits(entities["description"], 0, _COMPARED_CHARACTERS).to_pylist()
    keys = np.array([name_key(name) for name in names.tolist()], dtype=object)
    begun = np.array([text.casefold() for text in beginnings], dtype=object)
    typed = ~np.isin(types.astype(str), _NO_TYPES)
    compact = _alike(folded["compact"], one, other, Indel.normalized_similarity)
    # Words that were only joined or divided agree.
    whole = np.maximum((compact - np.float32(0.9)) / np.float32(0.1), np.float32(0))
    cosine, nearness = _nearness(vectors, one, other)
    return PairEvidence(
        one=one,
        other=other,
        rules=kept["rules"],
        likeness=np.maximum(_alike(ordered, one, other, Indel.normalized_similarity), compact),
        beginning=_alike(folded["compact"], one, other, JaroWinkler.normalized_similarity),
        agreed=np.maximum(_filled(agreed["agreed"]), whole),
        missing=_filled(agreed["missing"]) * (1 - whole) / np.float32(bits),
        most_missing=_filled(agreed["most_missing"]) * (1 - whole) / np.float32(bits),
        marks_differ=agreed["marks_differ"].astype(bool),
        same_name=(keys[one] == keys[other]).astype(bool),
        name_says=_common(name_words, one, other) / np.float32(bits),
        description_says=_common(words, one, other) / np.float32(bits),
        numbers_differ=_lacking(numbers, one, other),
        text=_alike(begun, one, other, Indel.normalized_similarity),
        cosine=cosine,
        nearness=nearness,
        neighbours=_common(graph, one, other) / np.float32(bits),
        together=_together(entities, one, other),
        related=_joined(graph, one, other),
        types_differ=((types[one] != types[other]) & typed[one] & typed[other]).astype(bool),
    )


def _nearness(vectors: Numbers | None, one: Places, other: Places) -> tuple[Floats | None, Floats]:
    """Return the cosine of each pair, if there are vectors, and by how much it is above that at random."""
    if vectors is None:
        return None, np.zeros(len(one), dtype=np.float32)
    cosine = _cosines(vectors, one, other)
    return cosine, _above_chance(cosine, vectors)


_WORDS = ("of_name", "NOT of_name", "NOT of_name AND is_number")


def _filled(column: Any) -> Floats:
    return np.asarray(column, dtype=np.float32)


def _alike(texts: Any, one: Places, other: Places, scorer: Any) -> Floats:
    from rapidfuzz.process import cpdist

    found = np.empty(len(one), dtype=np.float32)
    for tile in _tiles(len(one)):
        found[tile] = cpdist(texts[one[tile]], texts[other[tile]], scorer=scorer, dtype=np.float32, workers=-1)
    return found


def _matrix(connection: duckdb.DuckDBPyConnection, rows: int, of: str) -> Any:
    """Return a row an entity and a column a word: what the word says, or a little if all have it."""
    from scipy.sparse import csr_array

    found = connection.sql(f"SELECT n, w, greatest(bits, 0.01)::FLOAT AS bits FROM word WHERE {of}").fetchnumpy()
    return csr_array((found["bits"], (found["n"], found["w"])), shape=(rows, int(found["w"].max(initial=0)) + 1))


def _neighbours(entities: pa.Table, relations: pa.Table | None) -> Any:
    """Return a row an entity and a column a neighbour: what it says to have this neighbour."""
    from scipy.sparse import csr_array

    rows = entities.num_rows
    if relations is None:
        return csr_array((rows, rows), dtype=np.float32)
    ids = entities["entity_id"].to_numpy(zero_copy_only=False)
    ends = [_places_of(ids, relations[end].to_numpy(zero_copy_only=False)) for end in ("src_id", "tgt_id")]
    known = (ends[0] >= 0) & (ends[1] >= 0)
    ends = [places[known] for places in ends]
    one, other = np.concatenate(ends), np.concatenate(ends[::-1])
    bits = np.log2(np.float32(max(rows, 2)) / np.maximum(np.bincount(other, minlength=rows), 1)).astype(np.float32)
    return csr_array((np.maximum(bits[other], np.float32(0.01)), (one, other)), shape=(rows, rows))


def _together(entities: pa.Table, one: Places, other: Places) -> Floats:
    from scipy.sparse import csr_array

    if "chunk_ids" not in entities.column_names:
        return np.zeros(len(one), dtype=np.float32)
    lists = entities["chunk_ids"].combine_chunks()
    holders = lists.value_parent_indices().to_numpy()
    chunks = lists.flatten().dictionary_encode().indices.to_numpy()
    shape = (entities.num_rows, int(chunks.max(initial=0)) + 1)
    matrix = csr_array((np.ones(len(chunks), dtype=np.float32), (holders, chunks)), shape=shape)
    sizes = np.bincount(holders, minlength=entities.num_rows)
    return np.divide(_common(matrix, one, other), np.maximum(np.minimum(sizes[one], sizes[other]), 1), dtype=np.float32)


def _places_of(ids: Any, wanted: Any) -> npt.NDArray[np.int64]:
    """Return the place of each id among sorted ones; -1 if it is not there."""
    found = np.minimum(np.searchsorted(ids, wanted), max(len(ids) - 1, 0))
    return np.where(ids[found] == wanted, found, -1) if len(ids) else np.full(len(wanted), -1)


def _common(matrix: Any, one: Places, other: Places) -> Floats:
    """Return the sums of the columns that both rows have."""
    held = matrix.copy()
    held.data = np.ones_like(held.data)
    found = np.empty(len(one), dtype=np.float32)
    for tile in _tiles(len(one)):
        found[tile] = held[one[tile]].multiply(matrix[other[tile]]).sum(axis=1)
    return found


def _lacking(matrix: Any, one: Places, other: Places) -> Floats:
    totals = np.asarray(matrix.sum(axis=1), dtype=np.float32)
    least = np.minimum(totals[one], totals[other])
    share = np.divide(_common(matrix, one, other), least, out=np.ones(len(one), np.float32), where=least > 0)
    lacking: Floats = np.maximum(1 - share, np.float32(0))
    return lacking


def _joined(graph: Any, one: Places, other: Places) -> Flags:
    found = np.zeros(len(one), dtype=bool)
    if graph.nnz:
        for tile in _tiles(len(one)):
            found[tile] = np.asarray(graph[one[tile], other[tile]]).ravel() > 0
    return found


def _cosines(vectors: Numbers, one: Places, other: Places) -> Floats:
    found = np.empty(len(one), dtype=np.float32)
    for tile in _tiles(len(one), _TILE // 10):
        some, others = (vectors[places[tile]].astype(np.float32) for places in (one, other))
        lengths = np.linalg.norm(some, axis=1) * np.linalg.norm(others, axis=1)
        found[tile] = np.einsum("ij,ij->i", some, others) / np.maximum(lengths, np.float32(1e-12))
    return found


def _above_chance(cosine: Floats, vectors: Numbers) -> Floats:
    draw = np.random.default_rng(len(vectors))
    one, other = (draw.integers(0, len(vectors), _SAMPLE).astype(np.int32) for _ in range(2))
    apart = one != other
    chance = _cosines(vectors, one[apart], other[apart]).mean() if apart.any() else np.float32(0)
    above: Floats = (cosine - chance) / np.maximum(1 - chance, np.float32(1e-6))
    return np.clip(above, np.float32(0), np.float32(1))


def _tiles(rows: int, size: int = _TILE) -> Iterator[slice]:
    return (slice(start, start + size) for start in range(0, rows, size))
