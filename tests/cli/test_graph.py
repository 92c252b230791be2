import json
import shutil
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

from lightrag_dagster import Filters, KnowledgeBase
from tests.cli.test_cli import command

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(published_home: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("LIGHTRAG_HOME", str(published_home))
    return lambda *arguments: command(capfd, monkeypatch, *arguments)


@pytest.mark.long
def test_json_is_what_python_returns(run: Run, published_home: Path) -> None:
    office = Filters(sources="office")
    with KnowledgeBase.open(published_home) as knowledge:
        expected = {
            ("find", "Jonas", "--limit", "3"): knowledge.find("Jonas", limit=3),
            ("entity", "Bergen", "--source", "office"): knowledge.entity("Bergen", filters=office),
            ("neighbours", "Bergen", "--hops", "2"): knowledge.neighbours("Bergen", 2),
            ("path", "Bergen", "Halden Weir"): knowledge.path("Bergen", "Halden Weir"),
            ("path", "Bergen", "Halden Weir", "--by", "hops"): knowledge.path("Bergen", "Halden Weir", by="hops"),
        }
        for arguments, found in expected.items():
            shown = json.loads(run(*arguments, "--json")[1])
            assert shown.pop("version") == version("lightrag-dagster")
            assert shown == json.loads(json.dumps(found.to_dict()))


@pytest.mark.parametrize(
    "lost", ["tables/raw_documents/*/*.parquet", "generations/*/entities.parquet", "generations/*/adjacency/*.arrow"]
)
def test_a_file_that_is_gone_is_named_without_sql_and_with_the_next_step(
    run: Run, published_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    home = shutil.copytree(published_home, tmp_path / "home")
    monkeypatch.setenv("LIGHTRAG_HOME", str(home))
    for file in home.glob(lost):
        file.unlink()
    refused = [
        (errors, arguments)
        for arguments in (("find", "Bergen"), ("entity", "Bergen", "--source", "office"), ("export", "tables"))
        for code, _, errors in [run(*arguments)]
        if code
    ]
    assert refused
    for errors, arguments in refused:
        assert errors.startswith("error: "), arguments
        assert errors.endswith(("; run `lightrag-dagster run`\n", "; run `lightrag-dagster run --verify`\n")), arguments
        assert "LINE 1" not in errors


def test_find(run: Run) -> None:
    code, shown, _ = run("find", "Orin Instruments")
    assert code == 0
    assert "Orrin Instruments" in shown
    assert "similar" in shown
    assert run("find", "xyzzy")[1].startswith("No entity is called 'xyzzy', or like it. `query --mode bm25` looks")


def test_entity(run: Run) -> None:
    _, shown, errors = run("entity", "Orin Instruments", "--limit", "1")
    assert shown.startswith("Orrin Instruments (")
    assert "“Orrin Instruments" in shown
    assert "archive/weir.md" in shown
    assert "  … and 1 more\n" in shown
    assert errors == "note: no entity is called 'Orin Instruments'; meant is 'Orrin Instruments'\n"
    assert "archive/" not in run("entity", "Orrin Instruments", "--source", "office")[1]


def test_neighbours(run: Run) -> None:
    shown = run("neighbours", "Bergen", "--hops", "2")[1]
    assert "\n1 hop: " in shown
    assert "\n2 hops: " in shown
    assert ", by " in shown.partition("2 hops")[2]
    assert "  … and " in run("neighbours", "Bergen", "--limit", "1")[1]


def test_path(run: Run) -> None:
    shown = run("path", "Bergen", "Halden Weir")[1]
    assert " → " in shown
    assert shown.count("shortest") == 1
    assert "archive/" in shown
    assert "No path leads" in run("path", "Bergen", "Priya Nair", "--source", "office")[1]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["entity", "xyzzy"], "there is no entity 'xyzzy'"),
        (["find", ""], "the name is empty"),
        (["path", "Bergen", "xyzzy"], "there is no entity 'xyzzy'"),
        (["neighbours", "Bergen", "--source", "nowhere"], "no source 'nowhere'"),
        (["find", "Bergen", "--snapshot", "gen-0"], "gen-0"),
    ],
)
def test_what_cannot_be_asked(run: Run, arguments: list[str], says: str) -> None:
    code, _, errors = run(*arguments)
    assert code == 2
    assert says in errors
    assert len(errors.strip().splitlines()) == 1


def test_text_of_documents_is_no_command_to_the_terminal(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from lightrag_dagster.cli.graph_output import print_answer
    from lightrag_dagster.cli.terminal import console
    from lightrag_dagster.query.graph.types import Alias, Profile, Quote

    bad = "\x1b[31m[bold]red[/]\x9b"
    quote = Quote(bad, bad, "chunk-1", bad, bad, "doc-1", None, 1, 2, bad, 0, 1, 2)
    profile = Profile("ent-1", bad, bad, f"{bad}<SEP>{bad}", 1, 1, (bad,), (Alias(bad, 0),), 0, (quote,), 0, (), 0)
    print_answer(console(quotes=True), profile)
    shown = capfd.readouterr().out
    assert "\x1b" not in shown
    assert "\x9b" not in shown
    assert "[bold]red[/]" in shown
