"""Beside LightRAG 1.5.7 itself: its own graph in our stores finds the same, in the same order.

`benchmarks.parity` made the fixture and says how. Ids are given in the order of LightRAG's files, since that is the
order in which it takes what it ranks equally, and ours is that of the ids.
"""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.parity_vectors import DIMENSIONS, embed, entity_text, relation_text
from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.core.text.tokens import load_tokenizer
from lightrag_dagster.indexes.lance import VectorReader, open_vectors
from lightrag_dagster.query.question import Question
from lightrag_dagster.query.search import Search
from lightrag_dagster.query.snapshot import Snapshot
from lightrag_dagster.query.steps.retrieve import Trace, retrieve
from lightrag_dagster.query.types import Keywords
from lightrag_dagster.schemas import ENTITIES, RELATIONS
from lightrag_dagster.settings import QuerySettings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import Manifest
from lightrag_dagster.storage.manifests import Vectors as VectorsRecord
from lightrag_dagster.storage.snapshots.generations import Generation
from tests.indexes.vectors import bring_to
from tests.query.tables import chunk_file, graph_of, table
from tests.storage.corpus import inputs_of

DUMP: dict[str, Any] = json.loads(gzip.decompress((Path(__file__).parent / "fixtures/lightrag.json.gz").read_bytes()))
MODES = ("local", "global", "hybrid", "mix", "naive")
PICKS: tuple[Literal["VECTOR", "WEIGHT"], ...] = ("VECTOR", "WEIGHT")
# The instructions of LightRAG and ours differ in length; neither leaves out a chunk of the fixture.
RESERVED = 2000


def ids(kind: str, number: int) -> list[str]:
    return [f"{kind}-{one:05d}" for one in range(number)]


CHUNK_IDS, ENTITY_IDS, RELATION_IDS = (
    ids(kind, len(DUMP[name])) for kind, name in (("chunk", "chunks"), ("ent", "entities"), ("rel", "relations"))
)
ROW_OF = {entity["name"]: row for row, entity in enumerate(DUMP["entities"])}
DEGREE = Counter(ROW_OF[relation[side]] for relation in DUMP["relations"] for side in ("src", "tgt"))


def unit(texts: list[str]) -> Vectors:
    vectors = embed(texts)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


def entity_rows() -> pa.Table:
    return table(
        "entities",
        ENTITIES,
        [
            {"entity_id": ENTITY_IDS[row], "name": one["name"], "type": one["type"], "description": one["description"]}
            | {"degree": DEGREE[row], "chunk_ids": [CHUNK_IDS[chunk] for chunk in one["chunks"]]}
            for row, one in enumerate(DUMP["entities"])
        ],
    )


def relation_rows() -> pa.Table:
    rows = []
    for row, one in enumerate(DUMP["relations"]):
        ends = [ROW_OF[one["src"]], ROW_OF[one["tgt"]]]
        rows.append(
            {name: one[name] for name in ("src", "tgt", "keywords", "description", "weight")}
            | {"relation_id": RELATION_IDS[row], "src_id": ENTITY_IDS[ends[0]], "tgt_id": ENTITY_IDS[ends[1]]}
            | {"rank": DEGREE[ends[0]] + DEGREE[ends[1]], "chunk_ids": [CHUNK_IDS[chunk] for chunk in one["chunks"]]}
        )
    return table("relations", RELATIONS, rows)


def reader(home: Home, name: str, row_ids: list[str], texts: list[str]) -> VectorReader:
    text_of = dict(zip(row_ids, texts, strict=True))

    def vectors_of(changed: list[str]) -> Vectors:
        return unit([text_of[one] for one in changed])

    wanted = pa.table({"id": row_ids, "embedding_key": row_ids})
    return open_vectors(home, bring_to(home, name, wanted, vectors_of, "gen-test", DIMENSIONS))


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    folder = tmp_path_factory.mktemp("lightrag")
    chunks = [
        {"chunk_id": chunk_id, "content": one["content"], "tokens": one["tokens"], "path": f"{chunk_id}/{one['file']}"}
        for chunk_id, one in zip(CHUNK_IDS, DUMP["chunks"], strict=True)
    ]
    graph = graph_of(folder, entity_rows(), relation_rows(), [chunk_file(folder, "lightrag", chunks)])
    home = Home(folder / "home")
    texts = {
        "chunk_vectors": (CHUNK_IDS, [one["content"] for one in DUMP["chunks"]]),
        "entity_vectors": (ENTITY_IDS, [entity_text(one["name"], one["description"]) for one in DUMP["entities"]]),
        "relation_vectors": (
            RELATION_IDS,
            [
                relation_text(*(one[name] for name in ("src", "tgt", "keywords", "description")))
                for one in DUMP["relations"]
            ],
        ),
    }
    return Snapshot(
        manifest=Manifest(
            snapshot_id="gen-test",
            sequence=1,
            published_at="2026-01-01T00:00:00+00:00",
            inputs=inputs_of(Home(Path("none"))),
            rows={},
            vectors=VectorsRecord(provider="offline", model="", dimensions=DIMENSIONS, identity="", tables={}),
        ),
        generation=Generation(home, "gen-test"),
        graph=graph,
        vectors={name: reader(home, name, *given) for name, given in texts.items()},
        corpus_state=None,
    )


def test_the_fixture_is_worth_comparing_with() -> None:
    assert len(DUMP["questions"]) >= 20
    folded = Counter(entity["name"].casefold() for entity in DUMP["entities"])
    assert max(folded.values()) == 1, "names that differ only in case are one entity here, and several in LightRAG"
    found = [one for question in DUMP["questions"] for one in question["found"].values()]
    assert len(found) == len(DUMP["questions"]) * len(MODES) * len(PICKS)
    assert sum(len(one["relations"]) > 40 for one in found) > 50


@pytest.mark.parametrize("pick", PICKS)
@pytest.mark.parametrize("mode", MODES)
def test_the_same_entities_relations_and_chunks_in_the_same_order(
    snapshot: Snapshot, mode: str, pick: Literal["VECTOR", "WEIGHT"]
) -> None:
    count, settings = load_tokenizer("o200k_base").count, QuerySettings(mode=mode, related_chunk_method=pick)
    for question in DUMP["questions"]:
        keywords = Keywords(tuple(question["high"]), tuple(question["low"]))
        asked = Question(question["question"], settings, keywords)
        search = Search(snapshot, asked, lambda texts: unit([*texts]))
        found = retrieve(search, count, RESERVED, None, Trace(explain=False))
        expected = question["found"][f"{mode} {pick}"]
        assert [one.entity_id for one in found.entities] == [ENTITY_IDS[row] for row in expected["entities"]], question
        assert [one.relation_id for one in found.relations] == [RELATION_IDS[row] for row in expected["relations"]]
        assert [one.chunk_id for one in found.chunks] == [CHUNK_IDS[row] for row in expected["chunks"]]
