"""Text that the embedder does not read is counted of every snapshot, by what its texts are and not by its history."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from lightrag_dagster.assets.checks import texts_read
from lightrag_dagster.core.text.tokens import load_tokenizer
from lightrag_dagster.indexes.lance import open_vectors
from lightrag_dagster.models.local.configuration import token_limit
from lightrag_dagster.models.local.files import find_model
from lightrag_dagster.pipeline.pending import pending
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.plan.plan import make_plan
from lightrag_dagster.resources import LightRAG
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import VectorTable
from lightrag_dagster.storage.snapshots.generations import Generation
from tests.cli.test_cli import command
from tests.loopback import Loopback
from tests.models.local.models import copy_of, settings_for
from tests.support import FLOOD, OFFICE, RIVER, build, published, snapshot_contents, write_source

SHORT, MODEL_READS = "Marta Lindqvist maintains it.", 24


@pytest.fixture
def short(settings: Settings, loopback: Loopback) -> Settings:
    """Settings with an endpoint whose model reads few tokens."""
    embedding = {"provider": "openai", "model": "small", "dimensions": 8, "max_input_tokens": MODEL_READS}
    return settings.changed(embedding=embedding, documents={"accept_deletes": True})


def counts(settings: Settings) -> dict[str, tuple[int, int, int, int]]:
    tables = published(settings).vectors.tables.items()
    return {table: (entry.rows, entry.cut, entry.unread, entry.characters) for table, entry in tables}


def of_each(settings: Settings, table: str = "chunk_vectors") -> dict[str, int]:
    entry: VectorTable = published(settings).vectors.tables[table]
    rows = open_vectors(Home.of(settings), entry).rows(["id", "unread"])
    return dict(zip(rows["id"].to_pylist(), rows["unread"].to_pylist(), strict=True))


def lines(settings: Settings) -> list[str]:
    return [line for line in pending(Situation.looking(settings)).warnings if "longer than" in line]


def requests(loopback: Loopback) -> list[Any]:
    return [one.body["input"] for one in loopback.requests if "input" in one.body]


@pytest.mark.long
def test_the_counts_are_of_the_whole_snapshot_after_any_history(
    short: Settings, tmp_path: Path, loopback: Loopback
) -> None:
    write_source(short, "notes", {"river.md": RIVER, "flood.md": FLOOD, "short.md": SHORT})
    build(short)
    write_source(short, "notes", {"river.md": RIVER, "short.md": SHORT, "again.md": RIVER, "office.md": OFFICE})
    build(short)
    truncate = load_tokenizer("o200k_base").truncate
    chunks = Generation(Home.of(short), published(short).snapshot_id).read_table("chunks").to_pylist()
    expected = {row["chunk_id"]: len(row["content"]) - len(truncate(row["content"], MODEL_READS)) for row in chunks}
    assert of_each(short) == expected
    distinct = {row["chunk_id"]: row["content"] for row in chunks}
    assert counts(short)["chunk_vectors"] == (3, 2, sum(expected.values()), sum(map(len, distinct.values())))
    assert published(short).vectors.reads == MODEL_READS

    clean = short.changed(home=tmp_path / "clean")
    build(clean)
    assert counts(clean) == counts(short)
    assert snapshot_contents(clean) == snapshot_contents(short)
    asked = len(requests(loopback))

    stored = short.changed(home=tmp_path / "stored")
    Home.of(stored).root.mkdir()
    (Home.of(stored).root / "vectors.sqlite").write_bytes((Home.of(short).root / "vectors.sqlite").read_bytes())
    build(stored)
    assert (counts(stored), of_each(stored)) == (counts(short), expected)
    assert len(requests(loopback)) == asked, "all vectors were stored"


@pytest.mark.long
def test_it_is_said_with_the_next_step(
    short: Settings, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_source(short, "notes", {"river.md": RIVER, "short.md": SHORT})
    build(short)
    [line, *others] = lines(short)
    entry = published(short).vectors.tables["chunk_vectors"]
    assert line == (
        f"1 of 2 texts in chunk_vectors are longer than the {MODEL_READS} tokens that the embedder reads: "
        f"{entry.unread_share:.1%} of the text is in no vector; set chunking.size to 18 or less, its overlap below "
        "that (`lightrag-dagster plan --backfill` shows the price), "
        "or take an embedder that reads more (docs/embedding.md)"
    )
    assert all("chunking.size" not in one for one in others)
    monkeypatch.setenv("LIGHTRAG_HOME", str(short.home))
    monkeypatch.setenv("LIGHTRAG_SOURCES", str(short.sources))
    monkeypatch.setenv("LIGHTRAG_EMBEDDING", json.dumps(short.embedding.model_dump(mode="json", exclude={"prices"})))
    code, output, _ = command(capfd, monkeypatch, "status", "--json")
    facts = json.loads(output)
    assert code == 0
    assert facts["vectors"]["reads"] == MODEL_READS
    assert facts["vectors"]["tables"]["chunk_vectors"] == entry.model_dump()
    assert line in facts["warnings"]


@pytest.mark.long
def test_the_check_warns_of_many(short: Settings) -> None:
    def judged() -> tuple[bool, str | None]:
        result = texts_read(LightRAG(short))
        return result.passed, result.description

    write_source(short, "notes", {f"{number}.md": f"{SHORT} {number}" for number in range(9)} | {"river.md": RIVER})
    build(short)
    assert judged() == (True, None)
    assert len([one for one in lines(short) if "chunk_vectors" in one]) == 1, "all the same, it is said"
    write_source(short, "notes", {"river.md": RIVER, "short.md": SHORT})
    build(short)
    passed, said = judged()
    assert not passed
    assert said is not None
    assert "1 of 2 texts" in said


@pytest.mark.long
def test_nothing_is_said_of_an_embedder_that_reads_all(settings: Settings) -> None:
    write_source(settings, "notes", {"river.md": RIVER * 50})
    assert [one for one in make_plan(settings).warnings if "tokens" in one] == []
    build(settings)
    assert [(cut, unread) for _, cut, unread, _ in counts(settings).values()] == [(0, 0)] * 3
    assert (published(settings).vectors.reads, lines(settings)) == (None, [])
    assert texts_read(LightRAG(settings)).passed


@pytest.mark.long
def test_a_scope_has_counts_of_its_own(short: Settings) -> None:
    scoped = short.changed(scopes={"board": {"sources": ("board",)}})
    write_source(scoped, "board", {"river.md": RIVER})
    write_source(scoped, "secret", {"flood.md": FLOOD, "short.md": SHORT})
    build(scoped)
    alone = short.changed(home=short.home.parent / "alone", sources=short.home.parent / "alone_sources")
    write_source(alone, "board", {"river.md": RIVER})
    build(alone)
    assert counts(scoped)["chunk_vectors"][:2] == (3, 2)
    assert counts(scoped.within("board"))["chunk_vectors"] == counts(alone)["chunk_vectors"]
    assert counts(alone)["chunk_vectors"][:2] == (1, 1)


def test_the_plan_says_it_before_anything_is_embedded(short: Settings, loopback: Loopback) -> None:
    write_source(short, "notes", {"river.md": RIVER, "copy.md": RIVER, "short.md": SHORT})
    tokens = load_tokenizer("o200k_base").count(RIVER)
    share = (tokens - MODEL_READS) / (tokens + load_tokenizer("o200k_base").count(SHORT))
    expected = (
        f"1 of 2 chunks are longer than the {MODEL_READS} tokens that the embedder reads, and about {share:.1%} of the "
        "text would be in no vector, by the tokens of o200k_base, of which the model may count more; set chunking.size "
    )
    for _ in range(2):
        [line] = [one for one in make_plan(short).warnings if "in no vector" in one]
        assert line.startswith(expected)
        build(short)
    assert published(short).vectors.tables["chunk_vectors"].cut == 1
    other = short.changed(embedding={**short.embedding.model_dump(), "max_input_tokens": 8191})
    assert [one for one in make_plan(other).warnings if "in no vector" in one] == [line], "`run` keeps the embedder"
    assert [one for one in make_plan(other, backfill=True, knowledge_base=True).warnings if "no vector" in one] == []


def test_a_local_model_is_known_by_its_files(settings: Settings, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="the extra `onnx` is not installed")
    model = copy_of(tmp_path / "tiny")
    local = settings.changed(embedding=settings_for(model / "onnx" / "model.onnx").model_dump(exclude={"prices"}))
    limit = token_limit(find_model(str(model)))
    write_source(local, "notes", {"river.md": RIVER, "short.md": "Oslo"})
    [line] = [one for one in make_plan(local).warnings if "in no vector" in one]
    assert line.startswith(f"1 of 2 chunks are longer than the {limit} tokens that the embedder reads")
    build(local)
    assert published(local).vectors.reads == limit
    assert counts(local)["chunk_vectors"][:2] == (2, 1)
    assert 0.3 < published(local).vectors.tables["chunk_vectors"].unread_share < 1
    shutil.rmtree(model)
    assert [one for one in make_plan(settings).warnings if "in no vector" in one] == [line], "the snapshot tells it"
