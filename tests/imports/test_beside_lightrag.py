"""LightRAG 1.5.7 itself: a directory that it wrote comes in without a call, and is a plain source from then on."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import networkx
import pytest

from benchmarks.bench import ROOT
from benchmarks.bench.corpus import edited, passage
from benchmarks.bench.environment import VOCABULARY, lightrag_python
from benchmarks.bench.server import Server, serving
from lightrag_dagster.core.identity import name_key
from lightrag_dagster.imports import import_base, read_lightrag
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.generations import newest_generation
from tests.conftest import API_KEY
from tests.support import build, write_source

pytestmark = pytest.mark.long

PASSAGES, DIMENSIONS = 200, 16
EDITED, DELETED, RETYPED, MERGED = 3, (10, 11), 20, 30


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving(PASSAGES, DIMENSIONS) as running:
        yield running


@pytest.fixture(scope="module")
def folder(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working directory, of which one document was edited, two deleted, an entity edited and two merged."""
    name = passage(RETYPED).entities[0]
    steps = {
        "dimensions": DIMENSIONS,
        "documents": {passage(at).name: passage(at).text for at in range(PASSAGES)},
        "edited": {passage(EDITED).name: edited(EDITED).text},
        "deleted": [passage(at).name for at in DELETED],
        "entities": {name: {"description": "Edited by hand."}},
        "merged": [[[*passage(MERGED).entities[:2]], "Merged by hand"]],
    }
    made = tmp_path_factory.mktemp("lightrag")
    environment = os.environ | {"OPENAI_API_BASE": server.url, "OPENAI_API_KEY": "none", "PYTHONPATH": str(ROOT)}
    environment["TIKTOKEN_CACHE_DIR"] = str(VOCABULARY)
    command = [str(lightrag_python()), "-m", "tests.imports.lightrag_writer", str(made)]
    subprocess.run(command, input=json.dumps(steps), text=True, env=environment, check=True, capture_output=True)
    assert server.counts()["extract"] == PASSAGES + 1
    return made


@pytest.fixture
def paid(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", API_KEY)
    return settings_of(tmp_path)


def settings_of(folder: Path) -> Settings:
    (folder / "sources").mkdir(parents=True)
    return load_settings(
        home=folder / "home",
        sources=folder / "sources",
        llm={"provider": "openai", "model": "gpt-4o-mini"},
        embedding={"provider": "openai", "model": "text-embedding-3-small", "dimensions": DIMENSIONS},
        documents={"accept_deletes": True},
    )


def graph_of(settings: Settings) -> tuple[dict[str, str], dict[frozenset[str], float]]:
    """Return the descriptions of names, and the weights of pairs, of a home."""
    generation = newest_generation(Home.of(settings))
    entities, relations = (generation.read_table(name).to_pylist() for name in ("entities", "relations"))
    names = {row["name"]: row["description"] for row in entities}
    return names, {frozenset((name_key(row["src"]), name_key(row["tgt"]))): row["weight"] for row in relations}


def test_it_comes_in_without_a_call_and_equals_its_graph(folder: Path, server: Server, paid: Settings) -> None:
    base = read_lightrag(folder, paid.documents.max_bytes)
    server.counts()
    made = import_base(paid, "wiki", base, same_embedder=True)
    count = PASSAGES - len(DELETED)
    assert made.documents.counts == {"new": count}
    assert made.chunks._asdict() == {"chunks": count, "known": 0, "answered": count, "unused": 0}
    assert (made.vectors, base.notes) == (count, [])
    assert not any(server.counts().values())
    build(paid)
    asked = server.counts()
    assert (asked["extract"], asked["glean"]) == (0, 0)
    first, second = passage(MERGED).entities[:2]
    assert {(one.where, one.name) for one in base.edited} == {
        ("graph", "Merged by hand"),
        ("answers", first),
        ("answers", second),
        ("description", passage(RETYPED).entities[0]),
    }
    theirs, (names, weights) = networkx.read_graphml(folder / "graph_chunk_entity_relation.graphml"), graph_of(paid)
    by_hand = {name_key(name) for name in (first, second, "Merged by hand")}
    ours = {name_key(name) for name in names} - by_hand
    assert ours == {name_key(name) for name in theirs} - by_hand
    expected = dict[frozenset[str], float]()
    for src, tgt, edge in theirs.edges(data=True):
        pair = frozenset((name_key(src), name_key(tgt)))
        if not pair & by_hand and len(pair) == 2:  # two spellings of a name are one here
            expected[pair] = expected.get(pair, 0.0) + edge["weight"]
    assert {pair: weight for pair, weight in weights.items() if not pair & by_hand} == expected
    assert len(expected) > 400


def test_after_an_edit_and_a_deletion_it_equals_a_clean_build(
    folder: Path, server: Server, paid: Settings, tmp_path: Path
) -> None:
    import_base(paid, "wiki", read_lightrag(folder, paid.documents.max_bytes), same_embedder=False)
    build(paid)
    server.counts()
    files = paid.sources / "wiki"
    (files / f"{passage(40).name}.txt").write_text(edited(40).text)
    (files / f"{passage(41).name}.txt").unlink()
    build(paid)
    assert server.counts()["extract"] == 1
    clean = settings_of(tmp_path / "clean")
    write_source(clean, "wiki", {one.name: one.read_bytes() for one in files.glob("*.txt")})
    build(clean)
    assert server.counts()["extract"] == PASSAGES - len(DELETED) - 1
    assert graph_of(paid) == graph_of(clean)
    tables = [
        [newest_generation(Home.of(one)).read_table(name) for name in ("entities", "relations")]
        for one in (paid, clean)
    ]
    assert tables[0] == tables[1]
