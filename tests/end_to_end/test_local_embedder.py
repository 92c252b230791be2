"""A knowledge base whose texts a model on this machine embeds, from its ONNX file."""

import shutil
from pathlib import Path

import pytest

from lightrag_dagster.errors import EmbeddingError
from lightrag_dagster.pipeline.inputs import outdated
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.query.knowledge_base import KnowledgeBase
from lightrag_dagster.settings import Settings, load_settings
from tests.models.local.models import change, copy_of
from tests.support import FLOOD, OFFICE, RIVER, build, published, snapshot_contents, write_source

pytest.importorskip("onnxruntime", reason="the extra `onnx` is not installed")
QUESTION = "Which station was closed?"


def settings_in(folder: Path, model: Path) -> Settings:
    embedding = {"provider": "local", "model": str(model / "onnx" / "model.onnx"), "dimensions": 32}
    deletes = {"accept_deletes": True}
    return load_settings(home=folder / "home", sources=folder / "sources", embedding=embedding, documents=deletes)


def found(settings: Settings) -> list[tuple[str, float | None]]:
    with KnowledgeBase.open(settings=settings) as knowledge_base:
        return [(chunk.chunk_id, chunk.score) for chunk in knowledge_base.retrieve(QUESTION, mode="naive").chunks]


@pytest.fixture
def built(tmp_path: Path) -> Settings:
    settings = settings_in(tmp_path, copy_of(tmp_path / "tiny"))
    write_source(settings, "notes", {"river.md": RIVER, "flood.md": FLOOD})
    build(settings)
    return settings


@pytest.mark.long
def test_what_changes_ends_at_the_vectors_of_a_clean_build(built: Settings, tmp_path: Path) -> None:
    write_source(built, "notes", {"river.md": RIVER, "office.md": OFFICE})
    build(built)
    clean = built.changed(home=tmp_path / "clean")
    build(clean)
    assert published(built).vectors.identity.startswith("local/tiny@")
    assert published(built).vectors.dimensions == 32
    assert snapshot_contents(built) == snapshot_contents(clean)
    assert len(found(clean)) == 2
    assert found(clean) == found(built)


@pytest.mark.long
def test_a_model_that_moved_is_the_same(built: Settings, tmp_path: Path) -> None:
    before, answer = published(built).snapshot_id, found(built)
    (tmp_path / "elsewhere").mkdir()
    moved = settings_in(tmp_path, Path(shutil.move(tmp_path / "tiny", tmp_path / "elsewhere" / "tiny")))
    assert found(moved) == answer
    build(moved)
    assert published(moved).snapshot_id == before
    write_source(moved, "notes", {"river.md": RIVER, "flood.md": FLOOD, "office.md": OFFICE})
    build(moved)
    assert published(moved).vectors.identity == published(built).vectors.identity
    assert len(found(moved)) == 3


@pytest.mark.long
def test_another_model_waits_for_a_backfill(built: Settings, tmp_path: Path) -> None:
    old, other = published(built), settings_in(tmp_path, copy_of(tmp_path / "other"))
    change(tmp_path / "other" / "1_Pooling" / "config.json", pooling_mode="cls")
    build(other)
    assert outdated(Situation.looking(other)).vectors
    assert found(other) == found(built)  # a question is embedded as the snapshot was

    shutil.rmtree(tmp_path / "tiny")
    write_source(other, "notes", {"river.md": RIVER})
    with pytest.raises(EmbeddingError, match=r"neither .*; local/tiny@\w+ embedded the newest snapshot, .*backfill"):
        build(other)
    build(other, backfill=True)
    assert published(other).vectors.identity.startswith("local/other@")
    assert published(other).vectors.identity != old.vectors.identity
    assert len(found(other)) == 1


@pytest.mark.long
def test_a_model_that_was_changed_in_place_answers_no_question(built: Settings, tmp_path: Path) -> None:
    change(tmp_path / "tiny" / "1_Pooling" / "config.json", pooling_mode="cls")
    with pytest.raises(EmbeddingError, match=r"embedded by local/tiny@\w+, and this version has local/tiny@\w+; run"):
        found(built)
