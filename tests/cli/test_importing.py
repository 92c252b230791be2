"""`import` as a person uses it."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from lightrag_dagster.curation.rules import read_files
from tests.cli.test_cli import command
from tests.imports import test_graphrag, test_table
from tests.imports.stores import ANSWERS, TEXTS, rows_of, write_graph, write_json
from tests.support import FLOOD

Import = Callable[..., tuple[int, str, str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = write_json(tmp_path / "rag", rows_of(TEXTS))
    write_graph(folder, {"Priya Nair": "Priya Nair repairs sensors.", "Merged": "By hand."}, [("Priya Nair", "Merged")])
    return folder


@pytest.fixture
def bring(folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Import:
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *arguments: command(capfd, monkeypatch, "import", "lightrag", str(folder), *arguments)


@pytest.mark.long
def test_the_lines_say_all_that_comes_along_and_all_that_does_not(bring: Import, folder: Path) -> None:
    write_json(folder, rows_of(TEXTS | {"big.txt": "x" * 21_000_000}, ANSWERS | {"Gone.": ["An answer."]}))
    code, said, errors = bring("--source", "wiki", "--names", "names.csv", "--dry-run")
    assert (code, errors, "names.csv would list them" in said, Path("names.csv").exists()) == (0, "", True, False)
    code, said, errors = bring("--source", "wiki", "--names", "names.csv")
    assert (code, errors) == (0, "")
    lines = said.splitlines()
    assert lines[:6] == [
        "Documents new: 2, first notes.txt",
        "Documents larger than documents.max_bytes, left out: 1, first big.txt",
        "Chunks: 2; 2 stored answers taken, 0 are to be asked about.",
        "Vectors of chunks: 0 taken; --same-embedder takes them, if embedding.model is the one that made them.",
        "Names that were edited or merged there: 1 in its graph alone, 4 in the answers alone, 0 with another "
        "description; these edits do not come along, names.csv lists them for `curate`.",
        "Nothing was asked. The run that follows:",
    ]
    with Path("names.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    decided = {"action": "", "name": "Merged", "with": "", "into": "", "where": "graph", "text": "By hand."}
    assert [row for row in rows if row["where"] == "graph"] == [decided]
    assert len(rows) == 5
    Path("names.csv").write_text(Path("names.csv").read_text().replace("\n,Merged", "\nadd,Merged"))
    assert [(one.decision.action, one.decision.text) for one in read_files(Path("names.csv"))] == [("add", "By hand.")]
    code, _, errors = bring("--source", "wiki", "--names", "names.csv")
    assert (code, errors.startswith("error: names.csv is there already")) == (2, True)
    code, said, _ = bring("--source", "wiki")
    assert (code, said.splitlines()[0]) == (0, "Documents unchanged: 2, first notes.txt")
    assert "Chunks that had their answers here already: 2" in said.splitlines()


def test_a_dry_run_as_json_changes_nothing(bring: Import, folder: Path) -> None:
    stores = rows_of(TEXTS)
    next(iter(stores["text_chunks"].values()))["content"] = "Cut otherwise."
    write_json(folder, stores)
    code, said, errors = bring("--source", "wiki", "--dry-run", "--json")
    facts = json.loads(said)
    assert (code, errors) == (0, "")
    assert facts["chunks"] == {"chunks": 2, "known": 0, "answered": 1, "unused": 1}
    assert facts["dry_run"]
    assert facts["documents"] == {"new": 2}
    assert [one["chunks_new"] for one in facts["plan"]["sources"] if one["source"] == "wiki"] == [1]
    assert not any(Path(place).exists() for place in ("data", "sources/wiki"))
    assert "1 stored answer would be taken, 1 is to be asked about." in bring("--source", "wiki", "--dry-run")[1]


def test_an_import_after_much_was_removed_here_goes_on_where_that_is_intended(bring: Import) -> None:
    assert bring("--source", "wiki", "--dry-run", "--accept-deletes")[0] == 0
    assert bring("--source", "wiki")[0] == 0
    Path("sources/wiki/notes.txt").unlink()
    code, said, errors = bring("--source", "wiki")
    assert (code, said, "run again with --source wiki --accept-deletes" in errors) == (2, "", True)
    code, said, errors = bring("--source", "wiki", "--accept-deletes")
    assert (code, errors) == (0, "")
    assert "Documents removed here, and stay so: 1, first notes.txt" in said.splitlines()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "--source"),
        (("--source", "a/b"), "source name 'a/b' may not"),
        (("--source", "wiki", "--same-embedder"), "embedding.provider is offline"),
    ],
)
def test_wrong_arguments_write_nothing(bring: Import, arguments: tuple[str, ...], says: str) -> None:
    code, said, errors = bring(*arguments)
    assert (code, said) == (2, "")
    assert says in errors
    assert not Path("sources").exists()


def test_a_folder_of_something_else_is_refused(bring: Import, folder: Path) -> None:
    (folder / "kv_store_full_docs.json").unlink()
    code, _, errors = bring("--source", "wiki")
    assert code == 2
    assert errors.startswith(f"error: {folder} has no kv_store_full_docs.json; name LightRAG's working directory")
    assert FLOOD not in errors


def test_a_folder_of_graphrag_says_what_comes_along(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    made = test_graphrag.tables()
    made["text_units"].append({"id": "u3", "text": "Cut otherwise."})
    made["entities"][0]["text_unit_ids"] = ["u1", "u3"]
    output = test_graphrag.write(tmp_path / "output", made)
    code, said, errors = command(capfd, monkeypatch, "import", "graphrag", str(output), "--source", "wiki")
    assert (code, errors) == (0, "")
    assert said.splitlines()[:5] == [
        "Documents new: 2, first notes.txt",
        "Chunks: 2; 2 stored answers taken, 0 are to be asked about.",
        "Answers about texts that no chunk has here, not taken: 1, as of documents edited, removed or left out, and of "
        "chunks cut by other methods, or by hand; if chunking.size, overlap or encoding differ there, set them, and "
        "import into a new source",
        "Vectors of chunks: 0 taken.",
        "Nothing was asked. The run that follows:",
    ]
    code, said, errors = command(capfd, monkeypatch, "import", "graphrag", str(tmp_path), "--source", "wiki")
    assert (code, said) == (2, "")
    assert "has no documents.parquet; name the output folder of GraphRAG" in errors


def test_a_table_says_how_its_decisions_are_taken_back(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    rows = [test_table.ROWS[0] | {"weight": "3"}, *test_table.ROWS[1:]]
    file = test_table.written(tmp_path / "weighed.csv", rows)
    told = command(capfd, monkeypatch, "import", "table", str(file), "--source", "wiki", "--dry-run")
    assert told[1:] == ("Decisions would be taken: 4.\n", "warning: columns passed over: weight\n")
    file = test_table.written(tmp_path / "names.csv", test_table.ROWS)
    arguments = ("import", "table", str(file), "--source", "wiki")
    assert command(capfd, monkeypatch, *arguments, "--dry-run")[1] == "Decisions would be taken: 4.\n"
    code, said, errors = command(capfd, monkeypatch, *arguments)
    assert (code, errors) == (0, "")
    assert said.startswith("Decisions taken: 4. They take effect with the next `lightrag-dagster run`")
    assert "A row with a description leaves the type" in said
    assert said.endswith("`lightrag-dagster curate undo 1-4` takes them back.\n")
    assert command(capfd, monkeypatch, *arguments)[1] == "Decisions taken: 0; 4 were taken before.\n"
    assert "import table names.csv" in command(capfd, monkeypatch, "curate", "--json")[1]
    graph = tmp_path / "graph.json"
    graph.write_text(json.dumps(test_table.GRAPH))
    assert command(capfd, monkeypatch, "import", "table", str(graph), "--source", "../lamps")[:2] == (2, "")
    code, said, _ = command(capfd, monkeypatch, "import", "table", str(graph), "--source", "lamps", "--json")
    facts = json.loads(said)
    assert (code, facts["decisions"], facts["decisions_before"]) == (0, 1, 0)
    assert (facts["documents"], facts["chunks"]["answered"]) == ({"new": 2}, 2)


def test_a_table_of_decisions_alone_has_no_names_that_were_edited(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = test_table.written(tmp_path / "names.csv", test_table.ROWS)
    arguments = ("import", "table", str(file), "--source", "wiki", "--names", str(tmp_path / "new.csv"))
    code, said, errors = command(capfd, monkeypatch, *arguments)
    assert (code, said, errors) == (2, "", "error: in a table no names were edited; leave out --names\n")
    assert json.loads(command(capfd, monkeypatch, "curate", "--json")[1])["decisions"] == []


def test_one_decision_of_a_table_is_taken_back_by_its_number(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = test_table.written(tmp_path / "names.csv", [{"name": "Acme", "type": "company"}])
    said = command(capfd, monkeypatch, "import", "table", str(file), "--source", "wiki")[1]
    assert "`lightrag-dagster curate undo 1` takes it back." in " ".join(said.split())
    assert command(capfd, monkeypatch, "curate", "undo", "1")[0] == 0


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        (["--names", "new.csv"], "in a table no names were edited; leave out --names"),
        (["--same-embedder"], "embedding.provider is offline, whose rules made none of these vectors"),
    ],
)
def test_an_option_that_cannot_be_used_has_nothing_taken(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, option: list[str], reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    entities = [*test_table.GRAPH["entities"], test_table.FACTS[0]]
    Path("graph.json").write_text(json.dumps(test_table.GRAPH | {"entities": entities}))
    code, said, errors = command(capfd, monkeypatch, "import", "table", "graph.json", "--source", "own", *option)
    assert (code, said, reason in errors) == (2, "", True)
    assert json.loads(command(capfd, monkeypatch, "curate", "--json")[1])["decisions"] == []
    assert not Path("graph.facts.jsonl").exists()


def test_facts_of_a_table_are_written_with_the_settings_that_read_them(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    test_table.written(Path("leases.csv"), test_table.FACTS)
    arguments = ("import", "table", "leases.csv", "--source", "leases")
    code, said, errors = command(capfd, monkeypatch, *arguments, "--dry-run")
    assert (code, errors) == (0, "")
    assert said.startswith("Facts would be written to leases.facts.jsonl: 6.")
    assert not Path("leases.facts.jsonl").exists()
    first, settings = command(capfd, monkeypatch, *arguments)[1].split("\n\n", 1)
    assert first == "Facts written to leases.facts.jsonl: 6. These lines of lightrag.yaml read them:"
    Path("lightrag.yaml").write_text(settings)
    code, said, errors = command(capfd, monkeypatch, "readings", "check")
    assert (code, errors) == (0, "")
    assert said.startswith("columns reads leases; types: thing, company")
    said = json.loads(command(capfd, monkeypatch, *arguments, "--json")[1])
    assert (said["facts"], said["named_sources"]) == (6, yaml.safe_load(settings)["named_sources"])
    Path("leases.csv").write_text("subject,relation,value\nQuay 4,rent,5\n")
    others = "to leases.facts.jsonl, in place of those in it: 1."
    Path("leases.facts.jsonl").write_bytes(b"\xff")
    for way in (("--dry-run",), ()):
        assert others in command(capfd, monkeypatch, *arguments, *way)[1]
    assert others not in command(capfd, monkeypatch, *arguments)[1]
    Path("leases.csv").write_text("subject,relation\nQuay 4,rent\n")
    code, _, errors = command(capfd, monkeypatch, *arguments)
    assert (code, "leases.csv: row 1 has a subject" in errors) == (2, True)


@pytest.mark.parametrize("kind", ["facts that cannot be written", "rows that contradict each other"])
def test_a_table_is_taken_whole_or_not_at_all(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    entities = [*test_table.GRAPH["entities"], test_table.FACTS[0]]
    facts = Path("graph.facts.jsonl")
    if kind.startswith("facts"):
        facts.mkdir()
    else:
        command(capfd, monkeypatch, "curate", "remove", "Nowhere")
    Path("graph.json").write_text(json.dumps(test_table.GRAPH | {"entities": entities}))
    before = json.loads(command(capfd, monkeypatch, "curate", "--json")[1])["decisions"]
    code, _, errors = command(capfd, monkeypatch, "import", "table", "graph.json", "--source", "own")
    assert (code, errors[:6]) == (2, "error:")
    assert json.loads(command(capfd, monkeypatch, "curate", "--json")[1])["decisions"] == before
    assert not facts.is_file()
