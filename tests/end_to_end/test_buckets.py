"""A knowledge base in a bucket with Postgres is the one on a disk with SQLite, on every machine."""

import json
import time
from functools import partial
from itertools import count
from pathlib import Path

import dagster as dg
import obstore
import pytest
from pydantic import SecretStr

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.cli.rows import write_new_csv
from lightrag_dagster.cli.sql import run_sql
from lightrag_dagster.errors import NoSnapshotError, QueryError, SettingsError, StoreError
from lightrag_dagster.evaluation.gold.drafting import draft
from lightrag_dagster.evaluation.gold.gate import Comparison, try_gold
from lightrag_dagster.evaluation.gold.rows import COLUMNS
from lightrag_dagster.models.providers import open_chat_model, open_embedder
from lightrag_dagster.orchestration.definitions import build_definitions
from lightrag_dagster.pipeline.chunks import chunk_source
from lightrag_dagster.pipeline.documents import read_source
from lightrag_dagster.pipeline.extractions import extract_source
from lightrag_dagster.pipeline.graph import build_graph
from lightrag_dagster.pipeline.mentions import parse_and_accept
from lightrag_dagster.pipeline.merge import merge_sources
from lightrag_dagster.pipeline.publish import check_published, publish_newest
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.pipeline.vectors import embed
from lightrag_dagster.plan.plan import make_plan
from lightrag_dagster.settings import Settings, SourceSettings, load_settings
from lightrag_dagster.settings.sources import RowsSettings
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.stages.documents.sources import Source, find_source, find_sources
from lightrag_dagster.storage.backup_files import Contents
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.home_format import refresh
from lightrag_dagster.storage.locking import building
from lightrag_dagster.storage.manifests import VECTOR_TABLES
from lightrag_dagster.storage.snapshots.gc import collect_garbage
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.storage.snapshots.repair import find_published_damage, repair_published
from lightrag_dagster.storage.snapshots.snapshots import list_snapshots, release, rollback
from lightrag_dagster.storage.tables.source_tables import SourceTables
from lightrag_dagster.storage.tables.upstream import record_partitions
from lightrag_dagster.testing.building import ingest
from tests.buckets import BucketService, S3Server
from tests.support import FLOOD, OFFICE, RIVER, build, published, run, snapshot_contents, write_source

QUESTION = "Who maintains the gauge at Halden Weir?"


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A home on disk."""
    folder = tmp_path_factory.mktemp("disk")
    settings = load_settings(home=folder / "home", sources=folder / "sources")
    write_source(settings, "notes", {"river.md": RIVER, "flood.txt": FLOOD})
    write_source(settings, "office", {"office.txt": OFFICE})
    build(settings)
    return settings


def on_machine(settings: Settings, folder: Path) -> Settings:
    """Return the settings of another machine, whose cache is empty."""
    return settings.changed(cache={"folder": folder})


def repaired(settings: Settings, *, verify: bool = False) -> list[str]:
    """Remove what is damaged and build it again; return the damage."""
    with building(Home.of(settings), 0) as lock:
        damage = repair_published(Home.of(settings), find_sources(settings).keys(), verify=verify, lock=lock)
    build(settings, graph=True)
    return [one.reason for one in damage]


@pytest.fixture(params=["buckets", *(pytest.param(name, marks=pytest.mark.long) for name in ("google", "seaweed"))])
def server(request: pytest.FixtureRequest) -> BucketService:
    """Each of the servers."""
    service: BucketService = request.getfixturevalue(request.param)
    return service


@pytest.fixture
def in_bucket(expected: Settings, server: BucketService, postgres: SecretStr, tmp_path: Path) -> Settings:
    """Settings of an empty home in a bucket, with the same sources."""
    return on_machine(expected.changed(home=Path(server.new_bucket()), database=postgres), tmp_path / "first")


def test_the_same_snapshot_in_a_bucket_and_on_a_disk(expected: Settings, in_bucket: Settings, tmp_path: Path) -> None:
    build(in_bucket)
    assert published(in_bucket).snapshot_id == published(expected).snapshot_id
    assert snapshot_contents(in_bucket) == snapshot_contents(expected)
    with KnowledgeBase.open(settings=expected) as one, KnowledgeBase.open(settings=in_bucket) as other:
        assert other.query(QUESTION).text == one.query(QUESTION).text
        assert other.context(QUESTION) == one.context(QUESTION)
        answer = one.query(QUESTION).text
    (copy,) = Home.of(in_bucket).root.glob("generations/*/adjacency/chunks.arrow")
    copy.write_bytes(copy.read_bytes().replace(b"gauge", b"gouge"))
    with pytest.raises(
        StoreError, match=f"{copy} has other content .*; open the knowledge base again, which fetches it"
    ):
        KnowledgeBase.open(settings=in_bucket)
    with KnowledgeBase.open(settings=in_bucket) as knowledge:
        assert knowledge.query(QUESTION).text == answer


@pytest.mark.long
@pytest.mark.parametrize("server", ["buckets"], indirect=True)
def test_another_machine_drafts_gold_and_compares_a_recipe_with_it(in_bucket: Settings, tmp_path: Path) -> None:
    in_bucket = in_bucket.changed(sources=tmp_path / "sources")
    write_source(in_bucket, "notes", {f"{year}.md": f"{RIVER} That was in {year}." for year in range(2018, 2026)})
    build(in_bucket)
    settings = on_machine(in_bucket, tmp_path / "second").changed(gold={"folder": tmp_path / "gold.csv"})
    rows = [list(one) for one in draft(Situation.looking(settings), set(), 9)]
    for one in rows:
        one[7] = "done" if one[1] == "passage" else ""
    write_new_csv(tmp_path / "gold.csv", COLUMNS, rows, SettingsError)
    compared = try_gold(settings)
    assert isinstance(compared, Comparison)
    assert (compared.difference.mean, compared.difference.questions) == (0.0, 8)


@pytest.mark.long
@pytest.mark.parametrize("server", ["buckets"], indirect=True)
def test_a_scope_is_in_the_bucket_too(in_bucket: Settings, tmp_path: Path) -> None:
    settings = in_bucket.changed(sources=tmp_path / "sources", scopes={"some": {"sources": ("notes",)}})
    write_source(settings, "notes", {"river.md": RIVER})
    write_source(settings, "secret", {"flood.md": FLOOD})
    build(settings)
    reader = on_machine(settings, tmp_path / "reader")
    with KnowledgeBase.open(scope="some", settings=reader) as knowledge:
        assert knowledge.sql("SELECT path FROM raw_documents").to_pydict() == {"path": ["river.md"]}
        assert knowledge.query(QUESTION).text
    builder = on_machine(settings, tmp_path / "builder")
    write_source(builder, "notes", {"river.md": f"{RIVER} Priya Nair lives in Oslo."})
    build(builder)
    assert published(builder.within("some")).sequence == 2
    gone = builder.changed(scopes={})
    build(gone)
    later = on_machine(settings, tmp_path / "later")
    with pytest.raises(NoSnapshotError):
        KnowledgeBase.open(scope="some", settings=later)


@pytest.mark.long
def test_another_machine_answers_runs_sql_plans_and_publishes_an_edit(
    in_bucket: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = in_bucket.changed(sources=tmp_path / "sources")
    write_source(settings, "notes", {"river.md": RIVER})
    build(settings, graph=True)
    with KnowledgeBase.open(settings=settings) as knowledge:
        answer = knowledge.query(QUESTION).text

    reader = on_machine(settings, tmp_path / "reader")
    with KnowledgeBase.open(settings=reader) as knowledge:
        assert knowledge.query(QUESTION).text == answer
        assert knowledge.cypher("MATCH (c:Chunk) RETURN count(c) AS chunks") == [{"chunks": 1}]
        assert not list(Home.of(reader).root.rglob("*.parquet"))  # a question needs none
        assert knowledge.sql("SELECT path FROM raw_documents").to_pydict() == {"path": ["river.md"]}

    analyst = on_machine(settings, tmp_path / "analyst")
    monkeypatch.setattr("lightrag_dagster.cli.sql.load_settings", lambda: analyst)
    run_sql(None, "SELECT path FROM raw_documents", "csv")  # type: ignore[arg-type]
    assert capsys.readouterr().out == "path\nriver.md\n"

    write_source(settings, "notes", {"river.md": RIVER, "flood.txt": FLOOD})
    assert make_plan(on_machine(settings, tmp_path / "planner")).sources[0].documents.added == 1
    builder = on_machine(settings, tmp_path / "builder")
    before = published(settings)
    calls = _calls(settings)
    published_now = build(builder, graph=True).published
    assert published_now is not None
    assert published_now.sequence == before.sequence + 1
    assert 0 < _calls(settings)["extract"] - calls["extract"] <= 2  # about one chunk, not about both
    assert build(builder, graph=True).published is None
    assert find_published_damage(Home.of(builder), verify=True) == []
    with KnowledgeBase.open(settings=reader) as knowledge:
        assert knowledge.snapshot_id == published_now.snapshot_id
        assert {one.path for one in knowledge.retrieve("Who closed Station 14?").references} >= {"flood.txt"}


@pytest.mark.long
@pytest.mark.parametrize("server", ["buckets"], indirect=True)
def test_a_reader_with_an_empty_cache_sees_every_snapshot(
    in_bucket: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = in_bucket.changed(sources=tmp_path / "sources")
    for text in (RIVER, FLOOD):
        write_source(settings, "notes", {"text.txt": text})
        build(settings)
    with KnowledgeBase.open(settings=settings) as knowledge:
        changes = knowledge.changes()
    with KnowledgeBase.open(settings=on_machine(settings, tmp_path / "lister")) as knowledge:
        assert knowledge.sql("FROM snapshots").num_rows == 2
    with KnowledgeBase.open(settings=on_machine(settings, tmp_path / "reader")) as knowledge:
        assert knowledge.changes().equals(changes)
    monkeypatch.setattr("lightrag_dagster.cli.sql.load_settings", lambda: on_machine(settings, tmp_path / "analyst"))
    run_sql(None, "SELECT count(*) AS n FROM changes", "csv")  # type: ignore[arg-type]
    assert capsys.readouterr().out == f"n\n{changes.num_rows}\n"


@pytest.mark.long
@pytest.mark.parametrize("server", ["buckets"], indirect=True)
def test_a_graph_that_a_bucket_has_damaged_is_found_and_built_again(
    in_bucket: Settings, buckets: S3Server, tmp_path: Path
) -> None:
    build(in_bucket, graph=True)
    uri, contents = Home.of(in_bucket).name, snapshot_contents(in_bucket)
    [key] = [key for key in buckets.keys(uri) if "graph.kuzu" in key]
    assert key.endswith("/graph.kuzu.zst")
    obstore.put(buckets.store(uri), key, bytes(obstore.get(buckets.store(uri), key).bytes())[:-9])
    with (
        KnowledgeBase.open(settings=on_machine(in_bucket, tmp_path / "reader")) as knowledge,
        pytest.raises(StoreError, match=rf"{key} is damaged .*; run `lightrag-dagster run --verify`"),
    ):
        knowledge.cypher("MATCH (n) RETURN count(n)")
    builder = on_machine(in_bucket, tmp_path / "builder")
    assert repaired(builder, verify=True) == ["cannot be read (Truncated compressed stream)"]
    assert snapshot_contents(builder) == contents

    graph = Generation(Home.of(builder), published(builder).snapshot_id).path("graph.kuzu")
    graph.unlink()  # another file in its place, as from a bucket that was damaged when it was fetched
    graph.write_bytes(graph.parent.joinpath("entities.parquet").read_bytes())
    with (
        KnowledgeBase.open(settings=builder) as knowledge,
        pytest.raises(StoreError, match=r"graph\.kuzu is damaged; `lightrag-dagster run --verify` builds it again"),
    ):
        knowledge.cypher("MATCH (n) RETURN count(n)")
    assert repaired(builder, verify=True) == []
    with KnowledgeBase.open(settings=builder) as knowledge:
        assert knowledge.cypher("MATCH (c:Chunk) RETURN count(c) AS chunks") == [{"chunks": 3}]
    assert snapshot_contents(builder) == contents

    obstore.delete(buckets.store(uri), key)
    last = on_machine(in_bucket, tmp_path / "last")
    assert repaired(last) == [f"is missing in {uri}"]
    assert snapshot_contents(last) == contents
    assert find_published_damage(Home.of(builder), verify=True) == []


@pytest.mark.long
@pytest.mark.parametrize("server", ["buckets"], indirect=True)
def test_what_a_bucket_has_lost_is_built_and_uploaded_again(in_bucket: Settings, buckets: S3Server) -> None:
    build(in_bucket)
    uri, contents = Home.of(in_bucket).name, snapshot_contents(in_bucket)
    lost = [key for key in buckets.keys(uri) if key.endswith(("/relations.parquet", "/corpus_state.npy.zst"))]
    for key in lost:
        obstore.delete(buckets.store(uri), key)
    addresses = {str(one).partition(" is missing in ")[0] for one in find_published_damage(Home.of(in_bucket))}
    assert addresses == {f"{uri}/{key.removesuffix('.zst')}" for key in lost}
    assert repaired(in_bucket) == [f"is missing in {uri}"] * 2
    assert set(lost) <= set(buckets.keys(uri))
    assert repaired(in_bucket, verify=True) == []
    assert snapshot_contents(in_bucket) == contents


@pytest.mark.long
def test_every_step_works_on_a_machine_of_its_own(expected: Settings, in_bucket: Settings, tmp_path: Path) -> None:
    numbers = count()

    def elsewhere() -> tuple[Home, Recipes]:
        settings = on_machine(in_bucket, tmp_path / f"machine {next(numbers)}")
        return Home.of(settings), Recipes.of(settings)

    def ingest_elsewhere(source: Source) -> None:
        home, recipes = elsewhere()
        read_source(source, SourceTables(home), recipes)
        home, recipes = elsewhere()
        chunk_source(source.name, SourceTables(home), recipes)
        home, recipes = elsewhere()
        llm = recipes.settings.llm
        extract_source(source.name, SourceTables(home), recipes, lambda: open_chat_model(llm, home, "extract"))
        home, recipes = elsewhere()
        assert parse_and_accept(source.name, SourceTables(home), recipes)[1].accepted

    for source in find_sources(in_bucket).values():
        ingest_elsewhere(source)
    home, recipes = elsewhere()
    merge_sources(recipes, lambda: open_chat_model(recipes.settings.llm, home, "summarise"))
    for table in VECTOR_TABLES:
        home, recipes = elsewhere()
        embed(recipes, table, partial(open_embedder, home=Home.of(in_bucket)))
    build_graph(elsewhere()[1].settings)
    home, recipes = elsewhere()
    assert publish_newest(recipes.settings).snapshot_id == published(expected).snapshot_id
    assert snapshot_contents(recipes.settings) == snapshot_contents(expected)
    assert check_published(elsewhere()[0]) == []


def test_the_checks_of_a_source_see_what_another_machine_made(
    in_bucket: Settings, tmp_path: Path, instance: dg.DagsterInstance
) -> None:
    ingest(find_source(in_bucket, "notes"), SourceTables(Home.of(in_bucket)), Recipes.of(in_bucket))
    definitions = build_definitions(on_machine(in_bucket, tmp_path / "second"))
    instance.add_dynamic_partitions("source", ["notes"])
    job = definitions.resolve_job_def("ingest")
    alone = job.get_subset(
        asset_selection=set(), asset_check_selection=set(job.asset_layer.asset_graph.asset_check_keys)
    )
    evaluations = alone.execute_in_process(instance=instance, partition_key="notes").get_asset_check_evaluations()
    assert {one.check_name: one.passed for one in evaluations} == dict.fromkeys(
        (
            "accepted",
            "names_found",
            "names_grounded",
            "outdated",
            "types_known",
            "words_read",
        ),
        True,
    )


def test_another_machine_knows_the_partitions_that_were_read(in_bucket: Settings, tmp_path: Path) -> None:
    days, lake = {"2026-01-01": RIVER, "2026-01-02": FLOOD}, tmp_path / "lake"
    lake.mkdir()
    for day, text in days.items():
        (lake / f"{day}.jsonl").write_text(json.dumps({"id": "a", "text": text}))
    named = SourceSettings(uri=f"{lake}/{{partition}}.jsonl", asset="crawl/pages", rows=RowsSettings())
    here = in_bucket.changed(named_sources={"lake": named})
    record_partitions(Home.of(here), "lake", "crawl/pages", dict.fromkeys(days, "1"), 0)
    ingest(find_source(here, "lake"), SourceTables(Home.of(here)), Recipes.of(here))
    (lake / "2026-01-01.jsonl").unlink()

    there = on_machine(here, tmp_path / "second")
    source, tables = find_source(there, "lake"), SourceTables(Home.of(there))
    refresh(Home.of(there))
    read_source(source, tables, Recipes.of(there))
    assert {row["content"] for row in tables.read("raw_documents", "lake").to_pylist()} == {RIVER, FLOOD}


@pytest.mark.long
def test_a_reader_whose_snapshot_was_collected_is_told(in_bucket: Settings, tmp_path: Path) -> None:
    settings = in_bucket.changed(
        sources=tmp_path / "sources", retention={"snapshots": 1, "grace_days": 0, "automatic": False}
    )
    write_source(settings, "notes", {"text.txt": RIVER})
    build(settings)
    with KnowledgeBase.open(settings=on_machine(settings, tmp_path / "reader")) as knowledge:
        write_source(settings, "notes", {"text.txt": FLOOD})
        build(settings)
        with building(Home.of(settings), 0):
            collect_garbage(Home.of(settings), settings.retention, dry_run=False)
        with pytest.raises(StoreError, match="was removed by `gc` while it was open"):
            knowledge.cypher("MATCH (n) RETURN count(n)")  # the graph is fetched when it is asked for


@pytest.mark.long
@pytest.mark.parametrize("server", ["buckets"], indirect=True)
def test_a_run_through_dagster_on_an_empty_machine_and_one_without_work(
    in_bucket: Settings, expected: Settings, buckets: S3Server, tmp_path: Path
) -> None:
    first = run(in_bucket).published
    assert first is not None
    assert first.snapshot_id == published(expected).snapshot_id
    buckets.requests.clear()
    assert run(on_machine(in_bucket, tmp_path / "second")).published is None
    assert buckets.requests["PUT"] == 0
    assert run(in_bucket).published is None


@pytest.mark.long
def test_rollback_release_and_gc_work_on_the_bucket(in_bucket: Settings, server: BucketService, tmp_path: Path) -> None:
    settings = in_bucket.changed(
        sources=tmp_path / "sources", retention={"snapshots": 1, "grace_days": 0, "automatic": False}
    )
    ids = []
    for text in (RIVER, FLOOD):
        write_source(settings, "notes", {"text.txt": text})
        build(settings)
        ids.append(published(settings).snapshot_id)
    other = on_machine(settings, tmp_path / "second")
    home = Home.of(other)
    with building(home, 0) as lock:
        rollback(home, ids[0], lock)
    with KnowledgeBase.open(settings=settings) as knowledge:
        assert knowledge.snapshot_id == ids[0]
    with building(home, 0) as lock:
        release(home, lock)
    obstore.put(server.store(str(home.bucket)), "scratch/killed/chosen.parquet", b"left by a killed builder")
    assert not [name for name in Contents.of_home(home).names() if "scratch" in name], "it is in no backup"
    with building(home, 0):
        garbage = collect_garbage(home, settings.retention, dry_run=False)
    assert garbage.generations == [ids[0]]
    assert garbage.bytes_after < garbage.bytes_before
    assert [key for key in server.keys(str(home.bucket)) if ids[0] in key or "scratch" in key] == []
    with pytest.raises(QueryError, match="there is no snapshot"):
        KnowledgeBase.open(settings=settings, snapshot_id=ids[0])
    with KnowledgeBase.open(settings=on_machine(settings, tmp_path / "third")) as knowledge:
        assert knowledge.query("Who closed Station 14?").retrieval.references


@pytest.mark.long
def test_another_machine_sees_what_waits_and_releases_it(in_bucket: Settings, tmp_path: Path) -> None:
    settings = in_bucket.changed(sources=tmp_path / "sources", publish="manual")
    write_source(settings, "notes", {"text.txt": RIVER})
    build(settings)
    first = published(settings).snapshot_id
    write_source(settings, "notes", {"text.txt": FLOOD})
    build(on_machine(settings, tmp_path / "second"))
    other = on_machine(settings, tmp_path / "third")
    now = Situation.looking(other)
    assert now.published is not None
    assert now.published.snapshot_id == first
    assert now.newest is not None
    assert str(now.newest.gates).startswith("documents: 0 added, 0 removed, 1 changed of 1; entities: ")
    with building(Home.of(other), 0) as lock:
        release(Home.of(other), lock)
    with KnowledgeBase.open(settings=on_machine(settings, tmp_path / "fourth")) as knowledge:
        assert knowledge.snapshot_id == now.newest.snapshot_id


@pytest.mark.long
def test_of_two_builders_the_second_is_told_and_the_snapshot_of_the_first_stays(
    in_bucket: Settings, tmp_path: Path
) -> None:
    slow = in_bucket.changed(sources=tmp_path / "sources")
    write_source(slow, "notes", {"river.md": RIVER})
    quick = on_machine(slow, tmp_path / "second")
    build(slow)
    with pytest.raises(StoreError, match="another builder published"), building(Home.of(slow), 0):  # noqa: PT012
        # One process may enter the lock twice: as if the lock of the first builder had been lost.
        write_source(slow, "notes", {"river.md": RIVER, "flood.txt": FLOOD})
        won = build(quick).published
        write_source(slow, "notes", {"river.md": RIVER, "flood.txt": FLOOD, "office.txt": OFFICE})
        assert build(slow).failed == {}
    assert won is not None
    with KnowledgeBase.open(settings=on_machine(slow, tmp_path / "third")) as knowledge:
        assert knowledge.snapshot_id == won.snapshot_id
    again = build(slow).published
    assert again is not None
    assert [one.snapshot_id for one in list_snapshots(Home.of(slow))][-1] == again.snapshot_id


@pytest.mark.long
@pytest.mark.parametrize("server", ["buckets"], indirect=True)
def test_answers_of_503_are_retried_and_a_bucket_that_stays_away_is_one_line(
    in_bucket: Settings, buckets: S3Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    turn = iter(range(1_000_000))
    buckets.failing = lambda environ: next(turn) % 5 == 0 and "/lance" not in environ["PATH_INFO"]
    build(in_bucket)
    buckets.failing = lambda environ: True
    monkeypatch.setattr("lightrag_dagster.core.objects._RETRIES", 1)
    started = time.monotonic()
    with pytest.raises(StoreError, match=r"s3://.*records/PUBLISHED cannot be used: .*503.*; check the bucket"):
        KnowledgeBase.open(settings=on_machine(in_bucket, tmp_path / "second"))
    assert time.monotonic() - started < 20


def test_a_bucket_without_postgres_is_refused(expected: Settings) -> None:
    with pytest.raises(SettingsError, match=r"s3://some/where is a bucket, which needs a Postgres database"):
        build(expected.changed(home=Path("s3://some/where")))


def _calls(settings: Settings) -> dict[str, int]:
    return {purpose: one.calls for purpose, one in Ledger(Home.of(settings).ledger).by_purpose().items()}
