"""`costs` as a person meets it."""

import json
from pathlib import Path

import pytest

from lightrag_dagster.settings import load_settings
from lightrag_dagster.spending.account import Entry
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.home import Home
from tests.cli.test_cli import command

OWN = "openai/maker/own?temperature=0.0&max_output_tokens=8192"


def test_dollars_by_what_they_were_spent_on(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    home = load_settings().home.absolute()
    for words in (("costs",), ("gc",), ("snapshots",), ("cache",), ("batch",), ("batch", "cancel", "x")):
        code, output, errors = command(capfd, monkeypatch, *words)
        assert (code, output) == (2, "")
        assert errors.startswith(f"error: there is no home {home}; name it by --home or LIGHTRAG_HOME")
        assert not home.exists()
    load_settings().sources.mkdir()
    for removed in ((), ("notes/gone.md",)):
        code, _, errors = command(capfd, monkeypatch, "purge", *removed)
        assert (code, f"there is no home {home}" in errors, home.exists()) == (2, True, False)
    home.mkdir()
    for further in ((), ("prune",), ("prune", "--dry-run")):
        assert (command(capfd, monkeypatch, "cache", *further)[0], [*home.iterdir()]) == (0, []), (
            "to look makes no store"
        )
    code, output, _ = command(capfd, monkeypatch, "costs")
    for much in ("9" * 20, f"{'9' * 20}d", "90", "soon"):
        assert command(capfd, monkeypatch, "cache", "prune", "--unused-for", much)[0] == 2
    for time, days in (("36h", 2), ("1d", 1), ("999999999d", 999_999_999)):
        said = command(capfd, monkeypatch, "cache", "prune", "--dry-run", "--unused-for", time)[1]
        assert f"(not used for {days} days)" in said
    assert (code, output.splitlines()) == (
        0,
        [f"Nothing is booked in {home} yet; `batch` lists the answers that are still awaited."],
    )
    ledger = Ledger(Home.of(load_settings()).ledger)
    ledger.add(Entry("run", "extract", "notes", "gpt", 3, 1, 1_000, 0, 20, 1.25))
    ledger.add(Entry("run", "embed", "notes", "small", 2, 0, 500, 0, 0, 0.5))
    monkeypatch.setenv("COLUMNS", "200")
    code, output, _ = command(capfd, monkeypatch, "costs", "--by", "source", "--by", "source")
    (line, total) = [line for line in output.splitlines() if "notes" in line or "total" in line]
    assert [cell.strip() for cell in line.split("│")[1:-1]] == ["notes", "5", "1", "1,500", "20", "$1.7500"]
    assert "$1.7500" in total
    found = json.loads(command(capfd, monkeypatch, "costs", "--json")[1])
    assert (found["cost_usd"], found["unpriced"]) == (1.75, [])
    assert [(one["purpose"], one["model"], one["cost_usd"]) for one in found["costs"]] == [
        ("embed", "small", 0.5),
        ("extract", "gpt", 1.25),
    ]
    ledger.add(Entry("run", "extract", "more", "gpt", 1, 0, 900, 600, 20, 0.1, cache_write_tokens=250))
    code, output, _ = command(capfd, monkeypatch, "costs", "--by", "source")
    (total,) = [line for line in output.splitlines() if "total" in line]
    assert [cell.strip() for cell in total.split("│")[2:-2]] == ["6", "1", "2,400", "600", "250", "40"]
    ledger.add(Entry("run", "summarise", "", "gpt", 0, 1, 0, 0, 0, 0.0))
    assert "│ (all)  │" in command(capfd, monkeypatch, "costs", "--by", "source")[1]
    for model in (OWN, "offline/rules-9"):
        ledger.add(Entry("run", "extract", "more", model, 2, 0, 300, 0, 5, 0.0))
    code, output, _ = command(capfd, monkeypatch, "costs")
    assert output.splitlines()[-1] == (
        f"No price is known of {OWN}, so it counts as $0; set llm.prices or embedding.prices"
    )
    assert json.loads(command(capfd, monkeypatch, "costs", "--json")[1])["unpriced"] == [OWN]
    for free in ("llm: {prices: {maker/own: {input: 0, output: 0}}}", "embedding: {prices: {maker/own: 0}}"):
        Path("lightrag.yaml").write_text(free)
        assert json.loads(command(capfd, monkeypatch, "costs", "--json")[1])["unpriced"] == []
