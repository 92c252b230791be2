"""Writing of the arrays of `TextIndex`, and of the chunks that have an entity's name in their title."""

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import count, pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core.text.terms import text_terms
from lightrag_dagster.indexes.arrays import Rows, map_lists, map_table, write_array, write_lists
from lightrag_dagster.indexes.text_index import hash_of, name_parts, name_words, passage, title_of

_SATURATION, _LENGTH_WEIGHT = 1.2, 0.75
"""k1 and b of BM25."""

_LONGEST_NAME = 12

_CHUNKS_IN_MEMORY = 10_000


def write_texts(arrays: Path) -> None:
    """Write the index of texts and names, and the titles, of the graph arrays in a folder beside them.

    Raises:
        OSError: the disk refuses, or an array is missing.
    """
    entities = map_table(arrays, "entities")
    # Most questions have some counted terms, which are not looked up by name.
    names: list[str] = pc.if_else(counted_terms(entities), "", entities["name"]).to_pylist()
    titles: list[str] = []
    write_text_index(arrays, _passages(map_table(arrays, "chunks"), titles), names)
    mentioned = map_lists(arrays, "entity_chunks")
    titled = array("i")
    lengths = array("i")
    chunks, offsets = np.asarray(mentioned.values), mentioned.offsets.tolist()  # slices of a map are slow
    for name, (first, end) in zip(names, pairwise(offsets), strict=True):
        words = f" {' '.join(name_words(name))} "
        own = [chunk for chunk in chunks[first:end].tolist() if words.strip() and words in titles[chunk]]
        titled.extend(own)
        lengths.append(len(own))
    write_lists(arrays, "title_chunks", _numbers(lengths), _numbers(titled))


def counted_terms(entities: pa.Table) -> pa.ChunkedArray:
    """Return a mask of the entities that are counted terms, of any type: nothing else is said of them."""
    # The sentence of stages/merging/sql/terms.sql.
    return pc.and_(pc.equal(entities["description"], "A term of these texts."), pc.equal(entities["degree"], 0))


def _passages(chunks: pa.Table, titles: list[str]) -> Iterator[str]:
    """Yield the text of each chunk, a batch in memory at a time, and append its title."""
    for batch in chunks.to_batches(_CHUNKS_IN_MEMORY):
        for row in batch.to_pylist():
            text = passage(row["content"], row["context"])
            titles.append(f" {' '.join(name_words(title_of(text)))} ")
            yield text


def write_text_index(folder: Path, texts: Iterable[str], names: Iterable[str]) -> None:
    """Write the arrays of one generation into a folder.

    Args:
        folder: an existing folder.
        texts: of every chunk, in the order of its rows.
        names: of every entity, in the order of its rows.
    """
    chunks = _write_terms(folder, texts)
    longest_name = _write_names(folder, names)
    write_array(folder, "text_sizes", np.array([chunks, longest_name], dtype=np.int32))


def _write_terms(folder: Path, texts: Iterable[str]) -> int:
    """Write the terms of chunks and their weights; return the number of chunks."""
    numbers = _numbering()
    # Arrays of the standard library grow in place; small arrays of NumPy's, one per chunk, took a third more memory.
    found, counts, sizes, lengths = array("i"), array("i"), array("i"), array("i")
    for text in texts:
        of_text = Counter(text_terms(text))
        found.extend(map(numbers.__getitem__, of_text))
        counts.extend(of_text.values())
        sizes.append(len(of_text))
        lengths.append(of_text.total())
    relative = _numbers(lengths).astype(np.float32) / max(1.0, float(np.mean(lengths or [0])))
    times = _numbers(counts).astype(np.float32)
    lengthy = np.repeat(relative, _numbers(sizes))
    weights = times * (_SATURATION + 1) / (times + _SATURATION * (1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * lengthy))
    order = _write_postings(folder, "terms", "term_chunks", numbers, (_numbers(found), _numbers(sizes)))
    write_array(folder, "term_weights", weights[order].astype(np.float32))
    return len(sizes)


def _write_names(folder: Path, names: Iterable[str]) -> int:
    """Write the names of entities and their pieces; return the number of words of the longest."""
    words = [name_words(name) for name in names]
    known = np.array([row for row, one in enumerate(words) if 0 < len(one) <= _LONGEST_NAME], dtype=np.int32)
    spelt = [" ".join(words[row]) for row in known.tolist()]
    hashes = np.array([hash_of(name) for name in spelt], dtype=np.uint64)
    order = np.lexsort((known, hashes))
    write_array(folder, "names", hashes[order])
    write_array(folder, "name_entities", known[order])
    numbers = _numbering()
    found, sizes = array("i"), array("i")
    for at in order.tolist():
        parts = sorted(name_parts(spelt[at]))
        found.extend(map(numbers.__getitem__, parts))
        sizes.append(len(parts))
    _write_postings(folder, "name_parts", "part_names", numbers, (_numbers(found), _numbers(sizes)))
    write_array(folder, "name_sizes", _numbers(sizes).astype(np.int16))
    return max((len(words[row]) for row in known.tolist()), default=0)


def _write_postings(
    folder: Path, keys: str, lists: str, numbers: dict[str, int], found: tuple[Rows, Rows]
) -> npt.NDArray[np.int64]:
    """Write the hashes of some keys, ascending, and the rows that each was found in.

    Args:
        folder: the folder to write to.
        keys: name of the array of hashes.
        lists: name of the lists of rows.
        numbers: the number of each key.
        found: the numbers of the keys of each row, each once, row after row; and how many each row has.

    Returns:
        The order of the values of the lists among all that was found, row after row.
    """
    hashes = np.array([hash_of(key) for key in numbers], dtype=np.uint64)
    by_hash = np.argsort(hashes, kind="stable")
    places = np.empty(len(by_hash), dtype=np.int32)
    places[by_hash] = np.arange(len(by_hash), dtype=np.int32)
    values, sizes = found
    key, rows = places[values], np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    order = np.argsort(key, kind="stable")  # rows ascend already
    write_array(folder, keys, hashes[by_hash])
    write_lists(folder, lists, np.bincount(key, minlength=len(hashes)), rows[order])
    return order


def _numbering() -> defaultdict[str, int]:
    """Return a dictionary that gives each new key the next number, from 0."""
    return defaultdict(count().__next__)


def _numbers(values: "array[int]") -> Rows:
    return np.array(values, dtype=np.int32)
