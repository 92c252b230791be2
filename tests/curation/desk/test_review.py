"""The review of names that may be one: what is shown, what a model says of it, and the decisions that come back."""

import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from lightrag_dagster.cli.rows import write_csv
from lightrag_dagster.core.identity import entity_id
from lightrag_dagster.curation.desk.opinions import Opinion, ask_pairs, pair_questions, parse_opinion
from lightrag_dagster.curation.desk.review import COLUMNS, Reviewed, accept, pairs_of, read_review
from lightrag_dagster.curation.desk.taking import take
from lightrag_dagster.curation.rules.decisions import Decision
from lightrag_dagster.curation.rules.reading import decisions_of
from lightrag_dagster.errors import DecisionError, ProviderAccessError, SettingsError
from lightrag_dagster.pipeline.asking import AskingPrice
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.schemas import DUPLICATE_CANDIDATES
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.spending.ledger import Ledger
from lightrag_dagster.storage.home import Home
from tests.loopback import Loopback, Reply

ACCOUNT = Account("review")
MODEL = {
    "provider": "openai",
    "model": "gpt-4o-mini",
    "max_retries": 0,
    "prices": {"gpt-4o-mini": {"input": 1.0, "output": 2.0}},
}


@pytest.fixture
def settings(published_home: Path, tmp_path: Path) -> Settings:
    return load_settings(home=shutil.copytree(published_home, tmp_path / "home"), llm=MODEL)


def candidates(*pairs: tuple[str, str, float, str]) -> pa.Table:
    """Return candidates: two names of entities, a score and a verdict each."""
    rows = []
    for one, other, score, verdict in pairs:
        first, second = sorted((one, other), key=entity_id)
        rows.append(
            {
                "entity_id": entity_id(first),
                "other_id": entity_id(second),
                "name": first,
                "other": second,
                "type": "person",
                "other_type": "person",
                "found_by": ["neighbour", "rare word"],
                "likeness": 0.5,
                "cosine": None,
                "score": score,
                "verdict": verdict,
            }
        )
    return pa.Table.from_pylist(rows, DUPLICATE_CANDIDATES)


CANDIDATES = candidates(
    ("Jonas Feld", "Priya Nair", 0.7, "unclear"),
    ("Orrin Instruments", "Halden Weir", 0.9, "likely"),
    ("Station 14", "Jonas Feld", 0.2, "unlikely"),
    ("Bergen", "Priya Nair", 0.1, "unlikely"),
    ("A name of another snapshot", "Bergen", 0.9, "likely"),
)


def test_pairs_are_shown_with_their_evidence_the_most_likely_first(settings: Settings) -> None:
    pairs = pairs_of(Situation.looking(settings), CANDIDATES)
    assert [{one.row["name"], one.row["other"]} for one in pairs] == [
        {"Orrin Instruments", "Halden Weir"}, {"Jonas Feld", "Priya Nair"}
    ]  # fmt: skip
    cells = dict(zip(COLUMNS, pairs[0].cells, strict=True))
    assert (cells["action"], cells["score"], cells["found by"]) == ("", 0.9, "neighbour, rare word")
    assert {cells["type of name"], cells["type of with"]} == {"organization", "location"}
    assert "archive" in str(cells["sources of name"])
    assert "<SEP>" not in "".join(map(str, cells.values()))


def written(file: Path, pairs: list[Reviewed], *actions: str) -> Path:
    with file.open("w", encoding="utf-8-sig", newline="") as opened:
        rows = [[action, *one.cells[1:]] for one, action in zip(pairs, actions, strict=True)]
        write_csv(COLUMNS, rows, escape_formulas=True, file=opened)
    return file


def test_a_review_comes_back_as_decisions(settings: Settings, tmp_path: Path) -> None:
    file = written(tmp_path / "names.csv", pairs_of(Situation.looking(settings), CANDIDATES), "merge", "apart")
    found = read_review(Situation.looking(settings), file, author="Ida")
    assert [(one.decision.action, set(one.decision.names), one.decision.author, place) for one, place in zip(
        found.new, ("names.csv:2", "names.csv:3"), strict=True) if one.place == place] == [
        ("merge", {"Orrin Instruments", "Halden Weir"}, "Ida", "names.csv:2"),
        ("apart", {"Jonas Feld", "Priya Nair"}, "Ida", "names.csv:3"),
    ]  # fmt: skip
    take(settings, [one.decision for one in found.new])
    again = read_review(Situation.looking(settings), file, author="Emil")
    assert again == ([], 2), "who decides does not make a decision new"
    with pytest.raises(DecisionError, match=r"there is no file .*gone\.csv; `lightrag-dagster curate review"):
        read_review(Situation.looking(settings), tmp_path / "gone.csv")
    with pytest.raises(DecisionError, match=r"names\.txt is not a file of decisions; name it \.yaml or \.csv"):
        read_review(Situation.looking(settings), file.rename(tmp_path / "names.txt"))


def test_a_name_with_a_semicolon_comes_back_as_one(settings: Settings, tmp_path: Path) -> None:
    (first, _) = pairs_of(Situation.looking(settings), CANDIDATES)
    names = {"name": "Brown; Smith Partners", "other": "Brown; Smith Partnres"}
    file = written(tmp_path / "names.csv", [Reviewed({**first.row, **names})], "apart")
    ((one,), _) = read_review(Situation.looking(settings), file)
    assert one.decision.names == tuple(names.values())


def test_lines_of_a_review_that_contradict_decisions_are_named(settings: Settings, tmp_path: Path) -> None:
    take(settings, [Decision(action="apart", names=("Orrin Instruments", "Halden Weir"))])
    file = written(tmp_path / "names.csv", pairs_of(Situation.looking(settings), CANDIDATES), "merge", "")
    found = read_review(Situation.looking(settings), file)
    with pytest.raises(DecisionError, match=r"decision 1 keeps .* apart, and names\.csv:2 joins them"):
        take(settings, [one.decision for one in found.new], [one.place for one in found.new])


def test_accepted_pairs_are_joined_unless_a_decision_keeps_them_apart(settings: Settings) -> None:
    pairs = pairs_of(
        Situation.looking(settings),
        candidates(
            ("Jonas Feld", "Priya Nair", 0.98, "likely"),
            ("Orrin Instruments", "Halden Weir", 0.97, "likely"),
            ("Priya Nair", "Station 14", 0.96, "likely"),
            ("Bergen", "Halden Weir", 0.5, "unclear"),
            ("Bergen", "Jonas Feld", 0.4, "unclear"),
            ("Bergen", "Station 14", 0.95, "likely"),
        ),
    )
    said = {0.5: Opinion(True, "so the papers say"), 0.4: Opinion(None, ""), 0.95: Opinion(False, "a town")}
    pairs = [Reviewed(one.row, said.get(one.row["score"])) for one in pairs]
    take(settings, [Decision(action="apart", names=("Jonas Feld", "Station 14"))])

    taken, contradicting = accept(settings, pairs, author="night")
    assert [set(one.decision.names) for one in taken] == [
        {"Jonas Feld", "Priya Nair"}, {"Orrin Instruments", "Halden Weir"}, {"Bergen", "Halden Weir"}
    ]  # fmt: skip
    assert contradicting == 1, "Priya Nair is Jonas Feld by then, who is not Station 14"
    reasons = [one.decision.reason for one in decisions_of(settings)]
    assert reasons[1:] == [
        *("score 0.98, found by neighbour, rare word", "score 0.97, found by neighbour, rare word"),
        "a language model: so the papers say",
    ]


def test_a_reason_that_no_decision_takes_is_refused_by_the_names(settings: Settings) -> None:
    first, second = pairs_of(Situation.looking(settings), CANDIDATES)
    spoilt = Reviewed(second.row, Opinion(True, "the company\x19s name"))
    with pytest.raises(
        DecisionError, match=rf"^{second.row['name']} — {second.row['other']}: .* holds a character that"
    ):
        accept(settings, [first, spoilt])
    assert decisions_of(settings) == []


def test_a_verdict_is_bought_once_whatever_documents_say_later(settings: Settings, loopback: Loopback) -> None:
    loopback.chat = lambda body: '{"same": true, "reason": "Both lead\\nthe office."}'
    first, second = pairs_of(Situation.looking(settings), CANDIDATES)
    assert pair_questions(settings, [first.pair, second.pair]).price(settings).questions == 2
    assert ask_pairs(settings, [first.pair], ACCOUNT) == [Opinion(True, "Both lead the office.")]
    one, other = (end._replace(description="Something else.", name=end.name.upper()) for end in first.pair)
    assert ask_pairs(settings, [(other, one), second.pair], ACCOUNT) == [Opinion(True, "Both lead the office.")] * 2
    assert len(loopback.requests) == 2
    ask_pairs(settings, [(first.pair[0], first.pair[1]._replace(type="weir"))], ACCOUNT)
    assert len(loopback.requests) == 3, "another type may be another thing"
    assert pair_questions(settings, [first.pair, second.pair]).price(settings) == AskingPrice(0, 0, 0, 0.0)
    bought = Ledger(Home.of(settings).ledger).by_purpose()["resolve"]
    assert bought.calls == 3
    assert bought.cost_usd == pytest.approx(3 * (100 * 1.0 + 20 * 2.0) / 1e6)


def test_the_budget_of_a_day_bounds_verdicts_too(settings: Settings, loopback: Loopback) -> None:
    loopback.chat = lambda body: '{"same": null, "reason": ""}'
    (first, _) = pairs_of(Situation.looking(settings), CANDIDATES)
    with pytest.raises(ProviderAccessError, match="max_cost_per_day_usd"):
        ask_pairs(settings, [first.pair], Account("review", max_cost_per_day_usd=0.0))
    assert not loopback.requests


def test_what_a_model_cannot_say_is_no_verdict(settings: Settings, loopback: Loopback) -> None:
    first, second = pairs_of(Situation.looking(settings), CANDIDATES)
    loopback.chat = lambda body: "I would rather not."
    assert ask_pairs(settings, [first.pair], ACCOUNT) == [Opinion(None, "the model's answer cannot be used", True)]
    loopback.script.append(Reply.error(400))
    (failed,) = ask_pairs(settings, [second.pair], ACCOUNT)
    assert failed.failed
    assert not Reviewed(second.row, failed).is_accepted
    assert Reviewed(first.row, failed).is_accepted, "all other evidence says so"


def test_without_a_model_nobody_is_asked(settings: Settings) -> None:
    offline = settings.model_copy(update={"llm": settings.llm.model_copy(update={"provider": "offline"})})
    (first, _) = pairs_of(Situation.looking(settings), CANDIDATES)
    for ask in (lambda: ask_pairs(offline, [first.pair], ACCOUNT), lambda: pair_questions(offline, [first.pair])):
        with pytest.raises(SettingsError, match=r"llm\.provider is offline.* without --ask and --price"):
            ask()


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ('{"same": true, "reason": "a"}', Opinion(True, "a")),
        ('```json\n{"same": false}\n```', Opinion(False, "")),
        ('<think>{"same": true}</think>{"same": null, "reason": 3}', Opinion(None, "")),
        ('{"same": true, "reason": "the company\\u0019s\\u200b name\\ud800"}', Opinion(True, "the companys name")),
        ('{"same": "yes"}', None),
        ('{"reason": "a"}', None),
        ("yes", None),
    ],
)
def test_a_verdict_is_an_object(text: str, verdict: Opinion | None) -> None:
    assert parse_opinion(text) == verdict
