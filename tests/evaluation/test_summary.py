from collections.abc import Mapping, Sequence

import pyarrow as pa
import pytest

from lightrag_dagster.evaluation.report import carried, language_cells, verdict
from lightrag_dagster.evaluation.summary import (
    advantages,
    by_language,
    changes,
    find_carriers,
    judge_default,
    of_snapshot,
    summarise,
    with_history,
)
from lightrag_dagster.schemas import EVALUATED_QUESTIONS


def rows(
    sequence: int, recall: Mapping[str, Sequence[float]], first: int = 0, languages: Sequence[str | None] = ()
) -> pa.Table:
    """Rows of one snapshot: mode → recall of the questions, which are numbered from `first`."""
    return pa.Table.from_pylist(
        [
            {"sequence": sequence, "snapshot_id": f"gen-{sequence}", "mode": mode, "question": f"q{number}"}
            | {"question_key": f"key{number}", "precision": 0.2, "mrr": 1.0, "ndcg": 0.5, "recall": value}
            | {"recall_at_2": value / 2}
            | {"context_tokens": 100 * number, "milliseconds": 1.0}
            | {"language": languages[number - first] if languages else None}
            for mode, values in recall.items()
            for number, value in enumerate(values, start=first)
        ],
        EVALUATED_QUESTIONS,
    )


def test_a_mean_and_an_interval_for_every_metric_that_has_values() -> None:
    summary = summarise(rows(3, {"mix": [1, 0, 1, 1], "naive": [0, 0, 0, 0]})).to_pylist()
    assert {row["metric"] for row in summary} == {
        "recall", "recall_at_2", "precision", "mrr", "ndcg", "milliseconds", "context_tokens",
    }  # fmt: skip
    mix = next(row for row in summary if (row["mode"], row["metric"]) == ("mix", "recall"))
    assert (mix["mean"], mix["questions"], mix["sequence"], mix["snapshot_id"]) == (0.75, 4, 3, "gen-3")
    assert mix["low"] < 0.75 < mix["high"] == 1
    assert next(row["mean"] for row in summary if row["metric"] == "context_tokens") == 150


def test_no_rows_are_no_summary() -> None:
    assert summarise(EVALUATED_QUESTIONS.empty_table()).num_rows == 0


def test_history_replaces_the_same_snapshot_and_keeps_the_latest() -> None:
    history: pa.Table | None = None
    for sequence in range(1, 13):
        history = with_history(history, rows(sequence, {"mix": [1]}))
    assert history is not None
    assert sorted(history["sequence"].to_pylist()) == list(range(3, 13))
    again = with_history(history, rows(12, {"mix": [0]}))
    assert of_snapshot(again, "gen-12")["recall"].to_pylist() == [0]
    assert again.num_rows == 10
    assert with_history(again, again.slice(0, 0)).equals(again)


@pytest.mark.parametrize(
    ("before", "after", "dropped"),
    [
        ([1] * 10, [1] * 10, False),
        ([1] * 10, [0] * 4 + [1] * 6, True),
        # One of ten may be chance.
        ([1] * 10, [0] + [1] * 9, False),
        ([0] * 10, [1] * 10, False),
        # As many rise as fall.
        ([1, 0] * 5, [0, 1] * 5, False),
    ],
)
def test_a_drop_is_more_than_its_interval(before: list[float], after: list[float], dropped: bool) -> None:
    both = pa.concat_tables([rows(1, {"mix": before}), rows(2, {"mix": after})])
    recall = next(one for one in changes(both, of_snapshot(both, "gen-2")) if one.metric == "recall")
    assert recall.dropped == dropped
    assert recall.difference.mean == pytest.approx(sum(after) / 10 - sum(before) / 10)


def test_only_shared_questions_are_paired() -> None:
    # Question 0 is gone and question 4 is new; of the three in both, none changed.
    both = pa.concat_tables([rows(1, {"mix": [1, 0, 1, 0]}), rows(2, {"mix": [0, 1, 0, 0]}, first=1)])
    recall = changes(both, of_snapshot(both, "gen-2"))[0]
    assert (recall.before, recall.after, recall.difference.questions) == (1 / 3, 1 / 3, 3)


@pytest.mark.parametrize(("first", "compared"), [(100, 0), (11, 0), (10, 2)])
def test_other_questions_are_no_drop(first: int, compared: int) -> None:
    both = pa.concat_tables([rows(1, {"mix": [1] * 20}), rows(2, {"mix": [0] * 20}, first=first)])
    assert len(changes(both, of_snapshot(both, "gen-2"))) == compared


def test_the_one_before_is_the_last_that_was_evaluated_before() -> None:
    history = pa.concat_tables([rows(1, {"mix": [0]}), rows(3, {"mix": [1]}), rows(4, {"mix": [0], "ppr": [1]})])
    recall, ndcg = changes(history, of_snapshot(history, "gen-4"))
    assert (recall.mode, recall.before, recall.after) == ("mix", 1, 0)
    assert ndcg.metric == "ndcg"
    # After a rollback to it, the first has none before it.
    assert changes(history, of_snapshot(history, "gen-1")) == []


def test_another_file_of_questions_hides_no_drop() -> None:
    history = with_history(rows(1, {"mix": [1] * 20}), rows(1, {"mix": [0] * 9, "ppr": [1] * 9}, first=100))
    after, others = rows(2, {"mix": [0] * 20}), rows(3, {"mix": [0] * 9}, first=100)
    history = with_history(with_history(history, after), others)
    assert [(one.metric, one.before, one.dropped) for one in changes(history, after)] == [
        *(("recall", 1, True), ("ndcg", 0.5, False))
    ]
    assert [one.dropped for one in changes(history, others)] == [False, False], "of snapshot 1, as they were not asked"
    asked = rows(1, {"mix": [0] * 20})["question"].to_pylist()
    assert of_snapshot(history, "gen-1", asked)["recall"].to_pylist() == [1] * 20
    assert of_snapshot(history, "gen-1").num_rows == 38


def test_modes_are_compared_with_the_controls_question_by_question() -> None:
    measured = rows(1, {"fusion": [1, 1, 1, 0], "naive": [1, 0, 0, 0], "mix": [0, 0, 0, 0]})
    found = {(one.mode, one.control, one.metric): one.difference.mean for one in advantages(measured)}
    assert found["fusion", "naive", "recall"] == 0.5
    assert found["fusion", "naive", "recall_at_2"] == 0.25
    assert found["mix", "naive", "recall"] == -0.25
    assert {control for _, control, _ in found} == {"naive"}  # bm25 was not measured


@pytest.mark.parametrize(
    ("recall", "default", "best", "better"),
    [
        ({"fusion": [1] * 10, "mix": [0] * 10}, "fusion", "fusion", []),
        ({"fusion": [1] * 10, "mix": [0] * 10}, "mix", "fusion", ["fusion"]),
        # The mean is higher, but one question of ten may be chance.
        ({"fusion": [1] * 10, "mix": [0] + [1] * 9}, "mix", "fusion", []),
        # Of equal modes the default one is the best.
        ({"fusion": [1] * 10, "mix": [1] * 10}, "mix", "mix", []),
        ({"fusion": [1] * 10}, "mix", "fusion", []),
        ({}, "mix", None, []),
    ],
)
def test_the_default_mode_is_judged(
    recall: Mapping[str, Sequence[float]], default: str, best: str | None, better: list[str]
) -> None:
    judged = judge_default(rows(1, recall), default)
    assert (judged.best, [one.mode for one in judged.better]) == (best, better)


@pytest.mark.parametrize("questions", [1, 2, 9])
def test_fewer_than_ten_questions_call_no_mode_better(questions: int) -> None:
    judged = judge_default(rows(1, {"fusion": [1] * questions, "mix": [0] * questions}), "mix")
    assert (judged.best, judged.better, judged.sooner) == ("fusion", [], [])
    assert verdict(judged) == (
        "fewer than ten questions do not tell if a mode finds more than mix; add some; highest means: fusion"
    )


@pytest.mark.parametrize(
    ("recall", "said", "mode", "without"),
    [
        ({"bm25": [1] * 10, "naive": [0] * 10, "fusion": [1] * 10}, "words find more than vectors", "fusion", "bm25"),
        ({"bm25": [0] * 10, "naive": [1] * 10, "fusion": [0] * 10}, "vectors find more than words", "fusion", "naive"),
        ({"bm25": [1, 0] * 5, "naive": [0, 1] * 5, "mix": [1] * 10}, "words and vectors find as much", "mix", "naive"),
    ],
)
def test_words_vectors_or_the_graph_find_most(
    recall: Mapping[str, Sequence[float]], said: str, mode: str, without: str
) -> None:
    found = find_carriers(rows(1, recall))
    assert found is not None
    assert found.mode == mode
    assert found.without in {without, "bm25"}
    assert carried(found).startswith(said)
    graph = {"bm25": "adds nothing beyond chance", "naive": "loses some"}[without]
    assert ("the graph adds to them" if mode == "mix" else f"the graph {graph}") in carried(found)


@pytest.mark.parametrize("left_out", ["bm25", "naive", "fusion"])
def test_what_was_not_measured_finds_nothing(left_out: str) -> None:
    recall = {mode: [1.0] for mode in ("bm25", "naive", "fusion") if mode != left_out}
    assert find_carriers(rows(1, recall)) is None


def test_languages_with_five_questions_are_shown_apart() -> None:
    languages = [*["de"] * 12, *["en"] * 10, *["fr"] * 3, None]
    recall = {"bm25": [1.0] * 12 + [0.0] * 14, "naive": [0.0] * 12 + [1.0] * 14, "fusion": [1.0] * 26}
    found = by_language(rows(1, recall, languages=languages))
    assert {one: of.num_rows for one, of in found.items()} == {"de": 36, "en": 30}
    assert language_cells(found) == [
        ["mode", "de (12)", "en (10)"],
        ["fusion", "*1.000", "*1.000"],
        ["bm25", "*1.000", "0.000"],
        ["naive", "0.000", "*1.000"],
        ["found by", "words", "vectors"],
    ]


def test_of_modes_that_find_as_much_the_one_that_ranks_better_comes_first() -> None:
    measured = rows(1, {"bm25": [1.0] * 10, "fusion": [1.0] * 10, "local": [0.0] * 10})
    ranks = pa.array([0.5 if mode == "bm25" else 1.0 for mode in measured["mode"].to_pylist()])
    measured = measured.set_column(measured.schema.get_field_index("mrr"), "mrr", ranks)
    assert [one.mode for one in judge_default(measured, "local").better] == ["fusion", "bm25"]
    judged = judge_default(measured, "bm25")
    assert (judged.better, [one.mode for one in judged.sooner]) == ([], ["fusion"])
    assert verdict(judged) == (
        "no mode finds more than the default mode bm25 (recall@5); highest means: fusion; nearer to the top find: "
        "fusion by 0.500 (MRR)"
    )
    assert judge_default(measured, "fusion").sooner == []


def test_one_language_is_not_shown_apart() -> None:
    assert by_language(rows(1, {"bm25": [1.0] * 12}, languages=["de"] * 12)) == {}
    assert by_language(rows(1, {"bm25": [1.0] * 12}, languages=["de"] * 9 + ["en"] * 3)) == {}
    assert by_language(rows(1, {"bm25": [1.0] * 12})) == {}
