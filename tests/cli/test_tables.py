import io
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from lightrag_dagster import cli
from lightrag_dagster.cli.tables import print_table
from lightrag_dagster.models.batch.ledger import Batch, BatchLedger
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifests import Manifest
from tests.cli.test_cli import command

NUMBERS = ["133,323–666,615", "$0.0216–0.1080", "1,160,482", "2026-11-21 21:16"]


def printed(columns: Sequence[str], rows: Sequence[Sequence[object]], width: int = 80, **options: object) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    print_table(console, columns, rows, **options)  # type: ignore[arg-type]
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("columns", [1, 3, 4, 5, 8, 12])
@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_no_number_is_broken_or_cut(columns: int, width: int) -> None:
    numbers = [NUMBERS[at % len(NUMBERS)] for at in range(columns)]
    names = [f"heading of some words {at}" for at in range(columns)]
    row = ["a source with a name that goes over several lines", *numbers]
    text = printed(["source", *names], [row], width, wrap={"source"})
    for number in set(numbers):
        assert text.count(number) == numbers.count(number)
    assert width < 80 or max(len(line) for line in text.splitlines()) <= width


def test_a_narrow_table_has_one_field_a_line() -> None:
    text = printed(["source", "tokens", "cost"], [["notes", "1,234", "$5"], ["wiki", "7", "$1"]], 18, wrap={"source"})
    assert text == "source  notes\ntokens  1,234\ncost    $5\n\nsource  wiki\ntokens  7\ncost    $1\n"


def test_a_narrow_table_with_keys_is_several_that_have_them() -> None:
    columns, rows = ["month", "tokens", "answers", "cost"], [["2026-11", "1,234", "5", "$5"], ["total", "7", "1", "$1"]]
    assert [line.rstrip() for line in printed(columns, rows, 29, keys=1, title="Costs").splitlines()] == [
        "Costs",
        "┏━━━━━━━━━┳━━━━━━━━┓",
        "┃ month   ┃ tokens ┃",
        "┡━━━━━━━━━╇━━━━━━━━┩",
        "│ 2026-11 │  1,234 │",
        "│ total   │      7 │",
        "└─────────┴────────┘",
        "┏━━━━━━━━━┳━━━━━━━━━┳━━━━━━┓",
        "┃ month   ┃ answers ┃ cost ┃",
        "┡━━━━━━━━━╇━━━━━━━━━╇━━━━━━┩",
        "│ 2026-11 │       5 │   $5 │",
        "│ total   │       1 │   $1 │",
        "└─────────┴─────────┴──────┘",
    ]
    assert printed(columns, rows, 17, keys=1).startswith("month    2026-11\ntokens   1,234\n")


def test_numbers_are_aligned_right_and_headings_wrap() -> None:
    text = printed(["source", "input tokens"], [["notes", 12], ["wiki", 1234], ["all", None]], 20, wrap={"source"})
    assert text.splitlines() == [
        "┏━━━━━━━━┳━━━━━━━━┓",
        "┃        ┃  input ┃",
        "┃ source ┃ tokens ┃",
        "┡━━━━━━━━╇━━━━━━━━┩",
        "│ notes  │     12 │",
        "│ wiki   │   1234 │",
        "│ all    │        │",
        "└────────┴────────┘",
    ]


def test_text_is_printed_as_it_is() -> None:
    assert "[note] :smile: [/x]" in printed(["a"], [["[note] :smile: [/x]"]], wrap={"a"})


def test_wide_characters_count_twice() -> None:
    text = printed(["名前", "数"], [["東京都千代田区" * 6, 1234567]], 40, wrap={"名前"})
    assert "1234567" in text


def test_every_command_prints_its_tables_by_the_one_printer() -> None:
    folder = Path(cli.__file__).parent
    assert [path.stem for path in folder.glob("*.py") if "from rich.table import" in path.read_text()] == ["tables"]


def test_ids_are_aligned_left() -> None:
    lines = printed(["snapshot", "rows"], [["gen-1\n  published", 1], ["gen-22", 2]]).splitlines()
    assert lines[3:5] == ["│ gen-1       │    1 │", "│   published │      │"]
    assert lines[5] == "│ gen-22      │    2 │"


@pytest.fixture
def large_home(published_home: Path, tmp_path: Path) -> Path:
    """A copy of the small home that says of itself that it is large, with outdated rows and a batch."""
    home = Path(shutil.copytree(published_home, tmp_path / "home"))
    shutil.copytree(published_home.parent / "sources", tmp_path / "sources")
    (path,) = home.glob("generations/*/manifest.json")
    manifest = Manifest.model_validate_json(path.read_bytes())
    rows = manifest.rows | {"raw_documents": 1_234_567, "entities": 12_345_678, "relations": 87_654_321}
    path.write_text(manifest.model_copy(update={"rows": rows}).model_dump_json())
    with BatchLedger(Home(home).batches) as ledger:
        ledger.save(
            Batch(
                name="8a1f" * 8,
                run="run",
                source="archive",
                host="api.example.org",
                model="m",
                state="collected",
                status="completed",
                requests=50_000,
                finished=49_999,
                cost_usd=1234.5678,
                prepared_at=0.0,
                ended_at=123_456.0,
            )
        )
    return home


@pytest.mark.parametrize(
    ("command_line", "numbers"),
    [
        ("plan", ["$0.0000"]),
        ("plan --backfill", ["$0.0000"]),
        ("backfill", ["$0.0000"]),
        ("status", ["3 processed", "2 processed", "3 extractions"]),
        ("cache", ["$0.0000"]),
        ("snapshots", ["1,234,567", "12,345,678", "87,654,321"]),
        ("batch --all", ["8a1f8a1f", "49,999 of 50,000", "34.3", "$1234.5678"]),
        ("evaluate --questions questions.yaml", ["recall@5", "1.000 [1.000, 1.000]"]),
    ],
)
def test_no_command_cuts_a_number_at_80_columns(
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    large_home: Path,
    command_line: str,
    numbers: list[str],
) -> None:
    questions = [{"question": "Who repaired the sensor?", "documents": ["archive/shared.md"]}]
    Path("questions.yaml").write_text(yaml.safe_dump(questions))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LIGHTRAG_HOME", str(large_home))
    monkeypatch.setenv("LIGHTRAG_SOURCES", str(large_home.parent / "sources"))
    monkeypatch.setenv("LIGHTRAG_EXTRACTION__ANSWER_FORMAT", "json_object")
    code, output, _ = command(capfd, monkeypatch, *command_line.split())
    assert code == 0
    tables = [line for line in output.splitlines() if line[:1] in "┏┃┡│└"]
    assert tables
    assert max(map(len, tables)) <= 80
    assert "…" not in output
    assert [number for number in numbers if number not in output] == []


def test_cypher_cuts_no_number_at_80_columns(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, published_home: Path
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LIGHTRAG_HOME", str(published_home))
    numbers = ", ".join(f"{10**17 + column} AS n{column}" for column in range(6))
    query = f"MATCH (e:Entity) RETURN e.description, {numbers} LIMIT 1"
    code, output, _ = command(capfd, monkeypatch, "cypher", query)
    assert code == 0
    assert "…" not in output
    assert all(str(10**17 + column) in output for column in range(6))
