"""`gold draft` and `gold score`, and the gate in `plan`, `try` and `backfill`, as a person meets them."""

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.home import Home
from tests.cli.test_cli import command
from tests.gold import PRICE, RATES, TEXTS, chunk_name, settings_in, write_gold
from tests.loopback import Loopback
from tests.support import build, published, snapshot_contents, write_source

Command: TypeAlias = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(gold_home: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run a command at the home of `tests/gold.py`; keywords are settings as in the environment."""
    settings = {
        "HOME": gold_home / "home",
        "SOURCES": gold_home / "sources",
        "GOLD__FOLDER": gold_home / "gold",
        "LLM__PROVIDER": "openai",
        "LLM__MODEL": "good",
        "LLM__PRICES": json.dumps({one: {"input": 1.0, "output": 2.0} for one in RATES}),
        "EXTRACTION__GLEANING": "0",
    }

    def run(*arguments: str, **changed: object) -> tuple[int, str, str]:
        for name, value in (settings | changed).items():
            monkeypatch.setenv(f"LIGHTRAG_{name}", str(value))
        return command(capfd, monkeypatch, *arguments)

    monkeypatch.setenv("COLUMNS", "200")
    return run


def test_a_draft_is_marked_and_scored(run: Command, gold_home: Path) -> None:
    file = gold_home / "more.csv"
    code, output, _ = run("gold", "draft", str(file), "--chunks", "3", GOLD__FOLDER="")
    assert code == 0
    assert output.startswith(f"Passages in {file}: 3; rows: ")
    assert f"Then: lightrag-dagster gold score {file}" in " ".join(output.split())
    every = run("gold", "draft", str(gold_home / "all.csv"), "--chunks", "99", GOLD__FOLDER="")[1]
    assert ": 24, all that there are; rows: " in every
    code, _, errors = run("gold", "draft", str(file))
    said = "more.csv is there already, perhaps with labels; score it with `gold score`, or name another file"
    assert (code, said in errors) == (2, True)
    code, _, errors = run("gold", "score", str(file))
    assert code == 2
    assert f"none of the 3 passages in {file} is done; write `done` as the verdict of those you read" in errors
    rows = list(csv.reader(file.read_text("utf-8-sig").splitlines()))
    for row in rows:
        row[7] = "done" if row[1] == "passage" else row[7]
    with file.open("w", newline="") as opened:
        csv.writer(opened, delimiter=";").writerows(rows)
    code, output, _ = run("gold", "score", str(file))
    assert code == 0
    measures = re.findall(r"1\.00 \[1\.00, 1\.00\]", output)
    assert len(measures) == 3 * 3, "of all, entities and types"
    assert "error: gold.folder is not set; " in run("gold", "score", GOLD__FOLDER="")[2]
    assert f"3 gold passages with {len(rows) - 4} rows. Intervals are of 95%, over passages." in output


def test_the_file_that_the_setting_names_can_be_drafted(run: Command, gold_home: Path) -> None:
    file = gold_home / "first.csv"
    code, output, errors = run("gold", "draft", str(file), "--chunks", "3", GOLD__FOLDER=file)
    assert (code, f"Passages in {file}: 3; rows: " in output) == (0, True), errors


def test_a_draft_leaves_out_what_gold_files_have(run: Command, gold_home: Path) -> None:
    code, output, _ = run("gold", "draft", str(gold_home / "more.csv"))
    assert code == 0
    assert f": 4, all that are not in {gold_home / 'gold'};" in output
    drafted = {row["chunk"] for row in csv.DictReader((gold_home / "more.csv").read_text("utf-8-sig").splitlines())}
    assert drafted == {chunk_name(text) for text in list(TEXTS.values())[20:]}


def test_a_draft_of_an_empty_home_writes_no_file(run: Command, gold_home: Path) -> None:
    code, _, errors = run("gold", "draft", str(gold_home / "a.csv"), HOME=str(gold_home / "none"))
    assert (code, "nothing was ingested yet" in errors) == (2, True)
    assert not (gold_home / "a.csv").exists()


@pytest.mark.parametrize("place", ["gold", "gold/labels.txt", "nowhere/a.csv"])
def test_a_draft_that_cannot_be_written_is_refused_before_anything_is_read(
    run: Command, gold_home: Path, place: str
) -> None:
    code, _, errors = run("gold", "draft", str(gold_home / place))
    assert (code, errors.count("\n"), errors.startswith("error: ")) == (2, 1, True)


def test_rows_of_passages_that_are_gone_are_not_counted(run: Command, gold_home: Path) -> None:
    write_gold(gold_home / "gold" / "gone.csv", [f"{TEXTS['1.md']} And more."])
    assert "20 gold passages with 160 rows; 1 whose text is no longer a chunk (" in run("gold", "score")[1]
    found = json.loads(run("gold", "score", "--json")[1])
    assert (found["passages"], found["gold_rows"], len(found["gone"])) == (20, 160, 1)


def test_scores_are_listed_with_the_rows_that_are_not_right(run: Command, loopback: Loopback) -> None:
    code, output, _ = run("gold", "score", "--rows")
    assert code == 0
    assert "20 gold passages with 160 rows. Intervals are of 95%, over passages." in output
    code, told, _ = run("gold", "score", "--json")
    found = json.loads(told)
    assert (code, found["passages"], found["gold_rows"], found["gone"], found["not_done"]) == (0, 20, 160, [], [])
    every = {one["kind"]: one for one in found["scores"] if one["grouping"] == "all"}
    entities = every["entity"]
    assert entities["right"] + entities["missed"] == 160
    assert entities["recall"]["low"] < 0.9 < entities["recall"]["high"]
    assert f"{entities['recall']['mean']:.2f} [{entities['recall']['low']:.2f}, " in output
    assert len(found["faults"]) == entities["wrong"] + entities["missed"], "a type is of a name that both have"
    for one in found["faults"]:
        assert one["content"] in TEXTS.values()
        assert re.search(rf"{one['outcome']}\s+│ {one['kind']}\s+│ {one['shown']} ", output)
    assert loopback.requests == []


@pytest.mark.long
def test_scores_below_the_bound_end_with_1(run: Command, gold_home: Path) -> None:
    code, output, _ = run("gold", "score", GOLD__LEAST_F1=0.99)
    assert code == 1
    assert re.search(r"F1 of entity rows is 0\.\d{3}, below gold\.least_f1\.", output)
    code, output, _ = run("gold", "score", "--json", GOLD__LEAST_F1=0.99)
    assert (code, "entity" in json.loads(output)["below"]) == (1, True)
    assert run("gold", "score", GOLD__LEAST_F1=0.5)[0] == 0
    write_gold(gold_home / "gold" / "people.csv", ["Gone."])
    code, output, _ = run("gold", "score")
    assert code == 1
    assert f"1 whose text is no longer a chunk ({chunk_name('Gone.')})" in output
    assert "none of the 1 gold passages that are done is a chunk of this home, so that nothing was measured" in output
    assert run("gold", "score", "--json")[0] == 1


def test_gold_is_of_the_whole_knowledge_base(run: Command) -> None:
    code, _, errors = run("--scope", "partners", "gold", "score")
    assert (code, "gold works on the whole knowledge base; leave it out" in " ".join(errors.split())) == (2, True)


def test_a_mistake_in_a_gold_file_is_one_line(run: Command, gold_home: Path) -> None:
    (gold_home / "gold" / "bad.csv").write_text("chunk,kind,verdict\nt,thing,\n")
    for words in (["gold", "score"], ["gold", "draft", str(gold_home / "x.csv")], ["plan", "--backfill"]):
        code, _, errors = run(*words, LLM__MODEL="bad")
        assert (code, "error: bad.csv:2: the kind is 'thing'" in errors) == (2, True), words


@pytest.mark.long
def test_the_gate_costs_what_the_plan_says(run: Command, gold_home: Path, loopback: Loopback) -> None:
    code, output, _ = run("plan", "--backfill", LLM__MODEL="bad")
    assert code == 0
    found = re.search(
        r"Up to 20 gold passages are asked about first with --better-than-stored, in real time, for up to "
        r"\$(\S+) of that price\.",
        output,
    )
    assert found, output
    assert found[0] == json.loads(run("plan", "--backfill", "--json", LLM__MODEL="bad")[1])["gate"]
    assert "asked about" not in run("plan", "--backfill")[1]
    said = f"asked about first, in real time, for up to ${found[1]} of that price."
    assert said in run("plan", "--backfill", LLM__MODEL="bad", LLM__MODE="batch", GOLD__GATE="true")[1]
    code, _, _ = run(
        "backfill", "--all", "--better-than-stored", LLM__MODEL="bad", LLM__MODE="realtime", GOLD__GATE="false"
    )
    assert code == 3
    spent = PRICE * len(loopback.requests)
    assert float(found[1]) == pytest.approx(spent, rel=0.5)
    write_gold(gold_home / "gold" / "people.csv", list(TEXTS.values())[:2])
    code, output, _ = run("plan", "--backfill", LLM__MODEL="bad")
    assert "gold.folder has fewer than 20 right rows in passages that are done" in output


@pytest.mark.long
def test_gold_of_sources_that_are_not_in_the_plan_is_told_apart(
    run: Command, gold_home: Path, loopback: Loopback
) -> None:
    write_source(settings_in(gold_home), "more", {"more.md": "Anorvik99 met Bnordal99 at the weir."})
    build(settings_in(gold_home))
    loopback.requests.clear()
    write_source(settings_in(gold_home), "more", {"more.md": "Anorvik99 met Bnordal99 at the mill."})
    code, output, _ = run("plan", "--backfill")
    assert (code, "gold passages" in output) == (0, False), "one new text, and no gold passage to ask about"
    _, output, _ = run("plan", "--backfill", "--source", "more", LLM__MODEL="bad")
    found = re.search(
        r"Up to 20 gold passages .*, for up to \$(\S+); 20 are of other sources, and come on top\.", output
    )
    assert found, output
    code, _, _ = run("backfill", "--source", "more", "--better-than-stored", LLM__MODEL="bad")
    assert (code, len(loopback.requests)) == (3, 20)
    assert float(found[1]) == pytest.approx(20 * PRICE, rel=0.6)


@pytest.mark.long
def test_a_gate_that_asks_about_other_sources_alone_is_told(run: Command, gold_home: Path, loopback: Loopback) -> None:
    write_source(settings_in(gold_home), "more", {"more.md": "Anorvik99 met Bnordal99 at the weir."})
    build(settings_in(gold_home))
    assert run("backfill", "--source", "more", LLM__MODEL="bad")[0] == 0
    loopback.requests.clear()
    said = "Up to 20 gold passages are asked about first, in real time, at a price that is not known; 20 are of other "
    words = ("--backfill", "--source", "more")
    assert re.search(said, run("plan", *words, LLM__MODEL="bad", GOLD__GATE="true")[1])
    code, output, _ = run("backfill", "--source", "more", LLM__MODEL="bad", GOLD__GATE="true")
    assert (code, len(loopback.requests)) == (3, 20)
    assert re.search(said, output)
    code, output, _ = run("backfill", "--knowledge-base", LLM__MODEL="bad", GOLD__GATE="true")
    assert (code, "gold passages" in output) == (0, False), "which makes nothing of a source again"


@pytest.mark.long
def test_a_backfill_with_a_worse_recipe_ends_with_3(run: Command, gold_home: Path, loopback: Loopback) -> None:
    before = snapshot_contents(settings_in(gold_home))
    code, output, errors = run("backfill", "--all", "--better-than-stored", LLM__MODEL="bad")
    assert code == 3
    assert "gold rows" in output
    assert re.search(r"F1 over all gold rows of 20 passages changes by -0\.\d{3} \[-0\.\d{3}, -0\.\d{3}\]\.", output)
    assert "error: the new recipe is worse: over 20 gold passages its F1 is 0." in errors
    assert "its answers are stored, and nothing more was changed" in errors
    assert "and the same backfill with --no-better-than-stored makes the rows" in errors
    assert len(loopback.requests) == 20
    code, output, errors = run("backfill", "--all", "--json", LLM__MODEL="bad", GOLD__GATE="true")
    found = json.loads(output)
    assert (code, len(loopback.requests)) == (3, 20)
    assert found["gold"]["difference"]["high"] < 0
    assert (found["ingested"], found["cost_usd"]) == ([], 0.0)
    assert "the new recipe is worse" in found["error"]
    assert snapshot_contents(settings_in(gold_home)) == before


@pytest.mark.long
def test_a_backfill_goes_on_where_the_gate_is_open_or_off(run: Command, gold_home: Path, loopback: Loopback) -> None:
    code, output, _ = run("backfill", "--all", "--json", LLM__MODEL="same", GOLD__GATE="true")
    found = json.loads(output)
    assert (code, found["ingested"], found["error"]) == (0, ["notes"], None)
    assert found["gold"]["difference"]["questions"] == 20
    assert found["cost_usd"] == pytest.approx(24 * PRICE), "what the gate spent is of this backfill"
    assert len([one for one in loopback.requests if one.path.endswith("/chat/completions")]) == 24
    assert Ledger(Home(gold_home / "home").ledger).by_purpose()
    build(settings_in(gold_home), backfill=True)
    code, output, _ = run("backfill", "--all", LLM__MODEL="same", GOLD__GATE="true")
    assert (code, output.count("gold.folder has let this recipe through before")) == (0, 1)
    before = published(settings_in(gold_home))
    code, output, _ = run("backfill", "--all", "--no-better-than-stored", LLM__MODEL="bad", GOLD__GATE="true")
    assert code == 0
    assert "F1 over all gold rows" not in output
    assert published(settings_in(gold_home)) != before


@pytest.mark.long
def test_too_few_rows_let_a_backfill_go_on_with_a_warning(run: Command, gold_home: Path) -> None:
    write_gold(gold_home / "gold" / "people.csv", list(TEXTS.values())[:2])
    code, output, _ = run("backfill", "--all", "--better-than-stored", LLM__MODEL="bad")
    assert code == 0
    assert output.count("gold.folder has fewer than 20 right rows") == 1
    assert output.index("nothing is compared") < output.index("Going on without") < output.index("Published gen-")


@pytest.mark.long
@pytest.mark.parametrize("option", [True, False])
def test_a_backfill_that_gold_should_judge_needs_gold(
    run: Command, gold_home: Path, loopback: Loopback, *, option: bool
) -> None:
    before = snapshot_contents(settings_in(gold_home))
    words = ["backfill", "--all", *(["--better-than-stored"] if option else [])]
    changed = {"LLM__MODEL": "bad", "GOLD__GATE": str(not option)}
    (empty := gold_home / "empty").mkdir()
    for folder, said in (
        ("", "error: gold.folder is not set; "),
        (empty, f"error: no .csv, .tsv or .txt in {empty} has a passage; "),
    ):
        code, _, errors = run(*words, GOLD__FOLDER=folder, **changed)
        assert (code, errors.startswith(said)) == (2, True), errors
    code, _, errors = run("plan", "--backfill", GOLD__FOLDER="", LLM__MODEL="bad", GOLD__GATE="true")
    assert (code, errors.startswith("error: gold.folder is not set; ")) == (2, True)
    assert run("plan", "--backfill", GOLD__FOLDER="", LLM__MODEL="bad", GOLD__GATE="false")[0] == 0
    assert loopback.requests == []
    assert snapshot_contents(settings_in(gold_home)) == before


@pytest.mark.long
def test_a_trial_shows_the_gold_passages_by_both(run: Command, loopback: Loopback) -> None:
    code, output, _ = run("try", "--documents", "2", "--model", "bad")
    assert code == 0
    assert re.search(r"F1 over all gold rows of 20 passages changes by -0\.\d{3} ", output)
    code, output, _ = run("try", "--documents", "2", "--model", "bad", "--json")
    found = json.loads(output)
    assert found["gold"]["difference"]["high"] < 0
    assert len(loopback.requests) <= 22
    code, output, _ = run("try", "--documents", "2", "--json", GOLD__FOLDER="")
    found = json.loads(output)
    assert (code, found["gold"], found["error"]) == (0, None, None)


@pytest.mark.long
def test_the_limit_of_a_trial_holds_for_the_sample_and_the_gold_passages_together(
    run: Command, gold_home: Path
) -> None:
    ledger = Ledger(Home.of(settings_in(gold_home)).ledger)
    before = ledger.by_purpose()["extract"].cost_usd
    sizes = {"LLM__MAX_OUTPUT_TOKENS": 2000}
    code, output, told = run("try", "--documents", "8", "--model", "same", "--max-cost", "0.016", **sizes)
    assert (code, "the budget of $0.016 is used up" in told) == (2, True)
    assert "│ cost now" in output, "the trial itself is shown"
    code, output, _ = run("try", "--documents", "8", "--model", "same", "--max-cost", "0.001", "--json", **sizes)
    found = json.loads(output)
    assert (code, found["documents"], found["gold"]) == (2, 8, None)
    assert "the budget of $0.001 is below one call" in found["error"]
    assert 8 * PRICE < ledger.by_purpose()["extract"].cost_usd - before <= 0.016
