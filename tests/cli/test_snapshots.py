"""`snapshots`, `rollback`, `release`, `gc` and `cache` as a person uses them."""

import json
import shlex
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import dagster as dg
import pytest

from benchmarks.nights import age_runs
from lightrag_dagster import KnowledgeBase
from lightrag_dagster.cli.run import print_outcome
from lightrag_dagster.cli.terminal import console
from lightrag_dagster.orchestration.instance import open_instance
from lightrag_dagster.orchestration.runner import Outcome
from lightrag_dagster.pipeline.pending import Pending
from lightrag_dagster.settings import load_settings
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.locking import building, ingesting
from lightrag_dagster.storage.manifests import Manifest
from lightrag_dagster.storage.snapshots.snapshots import rollback
from tests.assets.runs import pretend
from tests.cli.test_cli import command
from tests.storage import corpus
from tests.storage.corpus import home_of
from tests.support import FLOOD, RIVER, build, published, write_source


@pytest.mark.long
def test_back_and_forth_from_the_command_line(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    settings = load_settings(home=tmp_path / "data", sources=tmp_path / "sources")
    snapshots = []
    for place in ("Oslo", "Paris"):
        write_source(settings, "notes", {"river.md": RIVER.replace("Bergen", place)})
        build(settings)
        snapshots.append(published(settings).snapshot_id)
    first, second = snapshots

    def ask(*arguments: str) -> str:
        code, output, errors = command(capfd, monkeypatch, *arguments)
        assert (code, errors if arguments[0] != "plan" else "") == (0, "")
        return output

    assert "is pinned as audit" in ask("snapshots", "pin", "audit", first)
    assert "audit" in ask("snapshots")
    names = "SELECT name FROM entities WHERE name IN ('Oslo', 'Paris')"
    for option, place in (((), "Paris"), (("--snapshot", "audit"), "Oslo"), (("--snapshot", first), "Oslo")):
        assert ask("sql", names, "--format", "csv", *option) == f"name\n{place}\n"
        assert place in ask("query", "Halden Weir", "--only-context", *option)
    said = ask("changes", "audit", "--limit", "1")
    assert said.startswith(f"{first} → {second}\ndocuments: 0 added, 1 changed, 0 removed\nentities: 1 added, ")
    assert "~ document notes/river.md\n    content_hash: " in said
    assert "more; --limit prints more, --json all of them." in said
    rows = json.loads(ask("changes", first, second, "--json"))["changes"]
    assert rows == json.loads(ask("changes", "--json"))["changes"]
    assert {row["name"] for row in rows if row["kind"] == "entity" and row["change"] == "removed"} >= {"Oslo"}
    counted = "SELECT kind, count(*) AS n FROM changes WHERE kind = 'document' GROUP BY kind"
    assert ask("sql", counted, "--format", "csv") == "kind,n\ndocument,1\n"
    assert first in ask("rollback", "audit")
    assert "release" in ask("status")
    write_source(settings, "notes", {"river.md": RIVER.replace("Bergen", "Rome")})
    (tmp_path / "sources" / "loose.md").write_text(RIVER)
    said = ask("run")
    assert f"Published {first}" not in said
    assert "which waits for release" in said
    assert f"{first} is held: readers open it until" in said
    assert "files beside the folders of sources are in no source: 1, first loose.md" in said
    assert second not in ask("release")
    assert f"kept: {first}" in ask("gc", "--dry-run")
    assert "removed: 0 snapshots" in ask("gc")
    assert "responses" in ask("cache")
    assert "would be removed: " in ask("cache", "prune", "--dry-run")
    assert "removed: " in ask("cache", "prune")
    assert "removed: 0 of " in ask("cache", "prune")
    ask("snapshots", "unpin", "audit")
    (source,) = json.loads(ask("plan", "--json"))["sources"]
    assert (source["chunks_new"], source["chunks_stored"]) == (0, 1)


@pytest.mark.long
def test_what_waits_for_release_is_said_to_wait(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("LIGHTRAG_DOCUMENTS__MAX_FAILED_SHARE", "0.5")
    settings = load_settings(home=tmp_path / "data", sources=tmp_path / "sources")
    for source in ("notes", "office"):
        write_source(settings, source, {"river.md": RIVER})
    build(settings, graph=True)
    first = published(settings)
    write_source(settings, "notes", {"river.md": RIVER, "broken.txt": b"\xc3\x28"})
    build(settings, graph=True)
    second = published(settings)
    assert command(capfd, monkeypatch, "rollback", first.snapshot_id)[0] == 0

    _, output, _ = command(capfd, monkeypatch, "status")
    assert f"publishes {second.snapshot_id}, which waits for release." in output
    facts = json.loads(command(capfd, monkeypatch, "status", "--json")[1])
    assert facts["waits_for_release"] == second.snapshot_id
    states = {line.split()[1]: line for line in output.splitlines() if line.startswith("│")}
    assert "waits for release" in states["notes"]
    assert "published" in states["office"]
    loss = output.splitlines()[-1]
    assert loss.startswith(f"documents: 1 failed of 3 (notes): lightrag-dagster sql --snapshot {second.snapshot_id} ")
    _, listed, _ = command(capfd, monkeypatch, *shlex.split(loss)[shlex.split(loss).index("sql") :], "--format", "csv")
    assert "broken.txt" in listed
    _, listed, _ = command(capfd, monkeypatch, "snapshots")
    marks = [line.strip("│ ") for line in listed.splitlines() if "gen-" not in line]
    assert [mark.split("  ")[0] for mark in marks if mark.startswith(("held", "waits"))] == [
        "held",
        "waits for release",
    ]

    code, output, _ = command(capfd, monkeypatch, "run")
    assert (code, "Nothing changed" in output) == (0, True)
    assert output.splitlines()[1].endswith(f"until `lightrag-dagster release` publishes {second.snapshot_id}.")
    print_outcome(console(), Outcome(published=second, states=Pending(manifest=first, unreleased=second.snapshot_id)))
    output, _ = capfd.readouterr()
    assert output.startswith(f"Built {second.snapshot_id}, which waits for release.\n{first.snapshot_id} is held: ")
    print_outcome(
        console(),
        Outcome(states=Pending(manifest=first), notes={"scopes": [said := "Scope press is published: 1 document."]}),
    )
    output, _ = capfd.readouterr()
    assert output == f"{said}\nNothing else changed; {first.snapshot_id} stays published.\n"
    said, shown = "pass works names othres in `sources`", "an entity has no name"
    lacking = Pending(manifest=first, warnings=[said, shown])
    print_outcome(console(), Outcome(states=lacking, rejected={"notes": f"{said}; its facts stay"}))
    printed = capfd.readouterr().out
    assert (printed.count(said), printed.count(shown)) == (1, 1)


@pytest.mark.long
def test_what_a_scope_replaced_is_told_refused_and_collected(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, notes: Path
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("LIGHTRAG_SCOPES", '{"press": {"sources": ["notes"]}}')
    build(load_settings())
    first, old = (published(one).snapshot_id for one in (load_settings(), load_settings().within("press")))
    folder = Home.of(load_settings().within("press")).generation(old)

    def ask(*arguments: str) -> tuple[int, str]:
        code, output, errors = command(capfd, monkeypatch, *arguments)
        return code, output + errors

    told = "a reader has a replaced snapshot open, which may show what is hidden by now; end it, or let it ask again\n"
    with KnowledgeBase.open(load_settings().home, scope="press"):
        (notes / "river.md").write_text(FLOOD)
        build(load_settings())
        assert ask("status", "--check") == (1, f"scope press: {told}")
        assert f"scope press: published, 1 document; {told}" in ask("status")[1]
        assert "scope press" not in ask("gc")[1]
    assert ask("status", "--check") == (0, "")
    keeps = (
        "Scopes (press) show what they did until the next `lightrag-dagster run`, or until the daemon publishes them.\n"
    )
    for moved in (("rollback", first), ("release",)):
        code, said = ask(*moved)
        assert (code, said.splitlines(keepends=True)[1:]) == (0, [keeps])
    refused = f"error: there is no snapshot {old} in scope press; a scope keeps the published one alone\n"
    for asked in (("sql", "FROM chunks"), ("query", "Who leads the office?"), ("cypher", "MATCH (a) RETURN a")):
        assert ask("--scope", "press", *asked, "--snapshot", old) == (2, refused)
    assert "\nwould be removed: what scope press had replaced\n" in ask("gc", "--dry-run")[1]
    assert folder.exists()
    assert "\nremoved: what scope press had replaced\n" in ask("gc")[1]
    assert not folder.exists()
    monkeypatch.setenv("LIGHTRAG_SCOPES", '{"media": {"sources": ["notes"]}, "all": {"paths": ["*"]}}')
    lacked = "error: `scopes` has no press; name one of all, media\n"
    for name in ("status", "communities", "serve"):
        assert ask("--scope", "press", name) == (2, lacked)
    code, lines = ask("status", "--check")
    assert (code, "scope press waits: the settings lack it; the next run removes it\n" in lines) == (1, True)
    assert "\nremoved: scope press, which the settings lack\n" in ask("gc")[1]
    assert not folder.parent.parent.exists()


def test_a_narrow_terminal_cuts_nothing_off(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, published_home: Path, tmp_path: Path
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    home = Path(shutil.copytree(published_home, tmp_path / "home"))
    monkeypatch.setenv("LIGHTRAG_HOME", str(home))
    (path,) = home.glob("generations/*/manifest.json")
    manifest = Manifest.model_validate_json(path.read_bytes())
    rows = manifest.rows | {"raw_documents": 123456789, "entities": 12345678, "relations": 987654321}
    path.write_text(manifest.model_copy(update={"rows": rows}).model_dump_json())
    printed = command(capfd, monkeypatch, "snapshots")[1]
    shown = (manifest.snapshot_id, "123,456,789", "12,345,678", "987,654,321", "published")
    assert all(text in printed for text in shown)
    assert "…" not in printed
    assert max(map(len, printed.splitlines())) <= 80


@pytest.mark.parametrize(
    "arguments",
    [
        ("rollback", "gen-none"),
        ("release",),
        ("changes", "gen-none"),
        ("purge", "nothing/at-all.md"),
    ],
)
def test_what_is_not_there_is_one_line_and_exit_code_2(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    code, _, errors = command(capfd, monkeypatch, *arguments)
    assert code == 2
    assert errors.startswith("error: ")
    assert errors.count("\n") == 1


def test_gc_says_which_sources_are_being_ingested(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = home_of(tmp_path, river=corpus.RIVER)
    corpus.write_source(home, "river", {})
    monkeypatch.setenv("LIGHTRAG_HOME", str(home.root))
    with ThreadPoolExecutor(1) as thread, ExitStack() as held:
        thread.submit(held.enter_context, ingesting(home, "river", 0)).result()
        for option in (["--dry-run"], []):
            code, output, _ = command(capfd, monkeypatch, "gc", *option)
            assert (code, "skipped, being ingested: river; the next `gc`" in output) == (0, True)
            assert "0 table versions" in output
        thread.submit(held.close).result()
    assert "skipped" not in command(capfd, monkeypatch, "gc", "--dry-run")[1]
    home.generation("gen-" + "0" * 32).mkdir(parents=True)
    assert "removed: 1 snapshot, 0 graphs of older ones, 6 table versions" in command(capfd, monkeypatch, "gc")[1]


def test_gc_says_what_it_does_with_dagsters_history(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = home_of(tmp_path, river=corpus.RIVER)
    monkeypatch.setenv("LIGHTRAG_HOME", str(home.root))

    def said(*options: str) -> list[str]:
        code, output, errors = command(capfd, monkeypatch, "gc", *options)
        assert (code, errors) == (0, "")
        return [line for line in output.splitlines() if "Dagster" in line]

    assert said() == [], "no run was ever made"
    with open_instance(home) as instance:
        for _ in range(3):
            pretend(instance, dg.DagsterRunStatus.SUCCESS, job="__ASSET_JOB", assets={"status_report"})
    age_runs(home, 15)
    assert said("--dry-run") == ["would be removed from Dagster's history: 2 runs older than 14 days"]
    assert said("--dry-run") == ["would be removed from Dagster's history: 2 runs older than 14 days"]
    assert said() == ["removed from Dagster's history: 2 runs older than 14 days"]
    with open_instance(home) as instance:
        assert len(instance.get_runs()) == 1, "the last one stays"
    assert said() == ["removed from Dagster's history: 0 runs older than 14 days"]
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "of_the_team"))
    assert said() == [f"Dagster's history is in {tmp_path / 'of_the_team'}, and stays"]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("PUBLISH", "automatic", "later ones will follow."),
        ("PUBLISH", "0.2", "later ones will follow, unless a gate stops them."),
        ("CHECKS", "ours", "later ones will follow, unless a gate stops them."),
        ("PUBLISH", "manual", "the next one waits again."),
    ],
)
def test_a_release_says_what_becomes_of_later_ones(
    published_home: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    value: str,
    said: str,
) -> None:
    home = Home(shutil.copytree(published_home, tmp_path / "home"))
    with building(home, 0) as lock:
        rollback(home, published(load_settings(home=home.root)).snapshot_id, lock)
    monkeypatch.setenv("LIGHTRAG_HOME", str(home.root))
    monkeypatch.setenv(f"LIGHTRAG_{name}", value)
    code, output, _ = command(capfd, monkeypatch, "release")
    assert (code, output.partition("is published; ")[2].strip()) == (0, said)
