"""Copies of a home with one flipped bit answer as the home does, or say that a file is damaged: nothing else."""

import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from lightrag_dagster import Filters, KnowledgeBase
from lightrag_dagster.errors import StoreError
from lightrag_dagster.storage.manifests import PublishedFiles
from lightrag_dagster.storage.snapshots.generations import MANIFEST
from lightrag_dagster.storage.snapshots.verify import FILES

TABLES = ("entities", "relations", "chunks", "entity_evidence", "relation_evidence", "raw_documents")

ASK: dict[str, Callable[[KnowledgeBase], object]] = {
    "query": lambda base: base.query("Who repaired the sensor at Station 14?").text,
    "fusion": lambda base: base.retrieve("What did the flood damage?").to_dict(),
    "mix": lambda base: base.retrieve("What did the flood damage?", mode="mix").to_dict(),
    "ppr": lambda base: base.retrieve("the gauge at Halden Weir", mode="ppr").to_dict(),
    "filter": lambda base: base.retrieve("Jonas Feld", filters=Filters("office")).to_dict(),
    "entity": lambda base: base.entity("Jonas Feld"),
    "path": lambda base: base.path("Jonas Feld", "Halden Weir"),
    "sql": lambda base: [base.sql(f"from {table} order by all").to_pylist() for table in TABLES],
    "cypher": lambda base: base.cypher("MATCH (e:Entity) RETURN e.name, e.description ORDER BY e.name"),
}

QUICK = (
    "adjacency/chunks.arrow",
    "adjacency/endpoints.npy",
    "adjacency/relation_chunks_values.npy",
    "entity_evidence.parquet",
    "generation.json",
    MANIFEST,
    FILES,
)
ASKED = ("fusion", "filter", "entity")


def outcomes(home: Path, asked: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield what each question gets: an answer without its times, or the message of a StoreError; others are raised."""
    try:
        with KnowledgeBase.open(home) as base:
            for name in asked:
                try:
                    found = ASK[name](base)
                    if isinstance(found, dict):
                        found.pop("steps")
                    yield name, repr(found)
                except StoreError as error:
                    yield name, f"StoreError: {error}"
    except StoreError as error:
        yield "open", f"StoreError: {error}"


def require_same_or_damaged(home: Path, copy: Path, names: list[str], asked: Sequence[str] = tuple(ASK)) -> list[str]:
    """Flip one bit of each of the files in turn, and return those where nothing was noticed."""
    sound, chance, unnoticed = dict(outcomes(copy, asked)), random.Random(7), list[str]()
    assert not [text for text in sound.values() if text.startswith("StoreError")]
    for name in names:
        content = bytearray((home / name).read_bytes())
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        (copy / name).write_bytes(content)
        found = dict(outcomes(copy, asked))
        others = {one: text for one, text in found.items() if text != sound.get(one)}
        unnamed = [text for text in others.values() if not text.startswith("StoreError: ") or " run" not in text]
        assert not unnamed, (name, unnamed)
        unnoticed += [] if others else [name]
        shutil.copyfile(home / name, copy / name)
    return unnoticed


def files_of(home: Path) -> list[str]:
    (record,) = home.glob(f"generations/*/{FILES}")
    listed = PublishedFiles.model_validate_json(record.read_bytes()).files
    own = (str(record.with_name(name).relative_to(home)) for name in ("graph.kuzu", "graph.json", FILES))
    return [*sorted(listed), *own]


def test_one_flipped_bit_changes_no_answer_without_a_word(published_home: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(published_home, tmp_path / "home"))
    names = [name for name in files_of(copy) if name.endswith(QUICK)]
    assert len(names) == len(QUICK)
    assert not require_same_or_damaged(published_home, copy, names, ASKED)


@pytest.mark.long
def test_no_flipped_bit_of_all_files_does(published_home: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(published_home, tmp_path / "home"))
    names = files_of(copy)
    unnoticed = require_same_or_damaged(published_home, copy, (4 * names)[:220])
    (manifest,) = (name for name in names if name.endswith(MANIFEST))
    unnoticed += require_same_or_damaged(published_home, copy, 40 * [manifest], ASKED)
    assert manifest not in unnoticed
    assert len(unnoticed) < 10, unnoticed  # the hash of a file that is not asked for
