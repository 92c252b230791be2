"""Results of modes: means with intervals, and changes since the previous snapshot."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.evaluation.bootstrap import Interval, Values, estimates
from lightrag_dagster.schemas import EVALUATED_QUESTIONS, RETRIEVAL_EVALUATION
from lightrag_dagster.settings import LLMSettings

METRICS = [field.name for field in EVALUATED_QUESTIONS if pa.types.is_floating(field.type)] + ["context_tokens"]

COMPARED = ["recall", "ndcg"]
"""Metrics that decide if a mode got better or worse: hits, and their ranks."""

BESIDE = ["recall_at_2", "recall", "mrr"]
"""Metrics in which modes are compared with each other."""

CONTROLS = ["naive", "bm25"]
"""Modes without a graph; one that is not above them does not pay for its graph."""

K = 5
"""Number of chunks that count for recall, precision and nDCG."""

_FEWEST = 5
"""Questions of a language from which its modes are shown apart."""

_FEWEST_JUDGED = 10
"""Questions from which a mode may be called better: one or two equal ones would give an interval without a width."""

_KEPT_SNAPSHOTS = 10

_ASKED = ["mode", "question_key"]


class Change(NamedTuple):
    """The change of a mode's metric since the previous snapshot, over the same questions."""

    mode: str
    metric: str
    before: float
    after: float
    difference: Interval

    @property
    def dropped(self) -> bool:
        """True if it fell by more than chance among the questions explains."""
        return self.difference.high < 0


def summarise(rows: pa.Table) -> pa.Table:
    """Return RETRIEVAL_EVALUATION for the rows of one snapshot, which are EVALUATED_QUESTIONS."""
    summary = []
    for mode in _distinct(rows, "mode"):
        of_mode = rows.filter(pc.equal(rows["mode"], mode))
        common = of_mode.select(["sequence", "snapshot_id", "mode"]).slice(0, 1).to_pylist()[0]
        found = zip(METRICS, estimates(_values(of_mode, METRICS)), strict=True)
        summary += [common | {"metric": metric} | one._asdict() for metric, one in found if one.questions]
    return pa.Table.from_pylist(summary, RETRIEVAL_EVALUATION)


def of_snapshot(rows: pa.Table, snapshot_id: str, asked: Collection[str] = ()) -> pa.Table:
    """Return the rows of one snapshot, of the questions that were `asked` if any are named."""
    found = rows.filter(pc.equal(rows["snapshot_id"], snapshot_id))
    return found.filter(pc.is_in(found["question"], pa.array(asked, pa.string()))) if asked else found


def with_history(previous: pa.Table | None, new: pa.Table) -> pa.Table:
    """Return new rows, if any, with those of the latest few other snapshots, and of other questions of theirs."""
    if previous is None:
        return new
    if not new.num_rows:
        return previous
    replaced = pc.equal(previous["snapshot_id"], new["snapshot_id"][0])
    if "question" in new.column_names:  # another file of questions may have been asked
        replaced = pc.and_(replaced, pc.is_in(previous["question"], new["question"].combine_chunks()))
    rows = pa.concat_tables([previous.filter(pc.invert(replaced)), new])
    others = {*_distinct(rows, "sequence")} - {*_distinct(new, "sequence")}
    latest = [*sorted(others)[1 - _KEPT_SNAPSHOTS :], *_distinct(new, "sequence")]
    return rows.filter(pc.is_in(rows["sequence"], pa.array(latest, pa.int32())))


def changes(history: pa.Table, rows: pa.Table) -> list[Change]:
    """Compare each question with the last time that it was asked of an earlier snapshot; an empty list if none was.

    If fewer than half of the questions in a mode were asked before, nothing is compared there.

    Args:
        history: EVALUATED_QUESTIONS of several snapshots.
        rows: those of the snapshot to judge.
    """
    earlier = history.filter(pc.less(history["sequence"], pc.min(rows["sequence"])))
    before = [(name, "last", pc.ScalarAggregateOptions(skip_nulls=False)) for name in COMPARED]
    last = earlier.sort_by("sequence").group_by(_ASKED, use_threads=False).aggregate(before)
    paired = rows.join(last, _ASKED, join_type="inner")
    found: list[Change] = []
    for mode in _distinct(paired, "mode"):
        common = paired.filter(pc.equal(paired["mode"], mode)).sort_by("question_key")
        if common.num_rows * 2 < rows.filter(pc.equal(rows["mode"], mode)).num_rows:
            continue
        first = _values(common, [f"{name}_last" for name in COMPARED])
        second = _values(common, COMPARED)
        means = zip(COMPARED, first.mean(axis=0), second.mean(axis=0), estimates(second - first), strict=True)
        found += [Change(mode, metric, float(was), float(now), one) for metric, was, now, one in means]
    return found


def count_unjudged(rows: pa.Table, mode: str, llm: LLMSettings) -> int:
    """Return the number of questions of EVALUATED_QUESTIONS in a mode whose answer, or its judgement, a model owes.

    An empty answer, without a context, is none: its relevance is 0.
    """
    return 0 if llm.provider == "offline" else int(rows.filter(pc.equal(rows["mode"], mode))["relevance"].null_count)


class Advantage(NamedTuple):
    """The difference of a mode and a control, over the same questions."""

    mode: str
    control: str
    metric: str
    difference: Interval


def advantages(rows: pa.Table, controls: Sequence[str] = CONTROLS) -> list[Advantage]:
    """Compare every mode with each control, question by question.

    Args:
        rows: EVALUATED_QUESTIONS of one snapshot.
        controls: names of modes; those that were not measured are left out.
    """
    by_mode = {mode: _sorted_values(rows, mode) for mode in _distinct(rows, "mode")}
    return [
        Advantage(mode, control, metric, one)
        for mode, values in by_mode.items()
        for control in controls
        if control in by_mode and control != mode
        for metric, one in zip(BESIDE, estimates(values - by_mode[control]), strict=True)
    ]


class Verdict(NamedTuple):
    """The default mode compared with the other measured modes.

    `best` has the highest mean of recall, then of MRR. `better` are the modes whose recall is above that of the default
    mode by more than chance among the questions explains, the best first; none if the default mode was not measured.
    `sooner` are likewise those with a higher MRR, of which no recall is below. Both are empty if `too_few` questions
    were asked.
    """

    default: str
    best: str | None
    better: list[Advantage]
    sooner: list[Advantage]
    too_few: bool = False


def judge_default(rows: pa.Table, default: str) -> Verdict:
    """Compare the default mode with the others on one snapshot; see `Verdict`.

    Args:
        rows: EVALUATED_QUESTIONS of one snapshot.
        default: the mode in which questions are asked unless they say otherwise.
    """
    means = {mode: _sorted_values(rows, mode).mean(axis=0) for mode in _distinct(rows, "mode")}
    order = [BESIDE.index("recall"), BESIDE.index("mrr")]
    best = max(means, key=lambda mode: (*means[mode][order], mode == default), default=None)
    compared = sorted(advantages(rows, [default]), key=lambda one: (*-means[one.mode][order], one.mode))
    too_few = any(one.difference.questions < _FEWEST_JUDGED for one in compared)
    above = [one for one in compared if one.difference.low > 0 and not too_few]
    fewer = {one.mode for one in compared if one.metric == "recall" and one.difference.high < 0}
    better = [one for one in above if one.metric == "recall"]
    sooner = [one for one in above if one.metric == "mrr" and one.mode not in fewer]
    return Verdict(default, best, better, sooner, too_few)


class Carriers(NamedTuple):
    """Differences in recall that tell whether vectors, words or the graph find what should be found.

    `words` is that of `bm25` and `naive`; `graph` that of `mode`, the best with a graph, and `without`, the better of
    these two.
    """

    words: Interval
    mode: str
    without: str
    graph: Interval


def find_carriers(rows: pa.Table) -> Carriers | None:
    """Compare vectors, words and the graph on one snapshot (EVALUATED_QUESTIONS); None unless all were measured."""
    at = [BESIDE.index("recall")]
    recall = {mode: _sorted_values(rows, mode)[:, at] for mode in _distinct(rows, "mode")}
    with_graph = sorted(recall.keys() - {*CONTROLS}, key=lambda mode: (-recall[mode].mean(), mode))
    if not with_graph or not recall.keys() >= {*CONTROLS}:
        return None
    vectors, words = CONTROLS
    without = max(CONTROLS, key=lambda mode: float(recall[mode].mean()))
    (by_words,) = estimates(recall[words] - recall[vectors])
    (by_graph,) = estimates(recall[with_graph[0]] - recall[without])
    return Carriers(by_words, with_graph[0], without, by_graph)


def by_language(rows: pa.Table) -> dict[str, pa.Table]:
    """Return the rows of each language of five questions or more, if there are several; most questions first.

    Args:
        rows: EVALUATED_QUESTIONS of one snapshot.
    """
    known = rows.filter(pc.is_valid(rows["language"]))
    found = {one: known.filter(pc.equal(known["language"], one)) for one in _distinct(known, "language")}
    asked = {one: len(pc.unique(of["question_key"])) for one, of in found.items()}
    shown = [one for one in sorted(found, key=lambda one: (-asked[one], one)) if asked[one] >= _FEWEST]
    return {one: found[one] for one in shown} if len(shown) > 1 else {}


def _sorted_values(rows: pa.Table, mode: str) -> Values:
    return _values(rows.filter(pc.equal(rows["mode"], mode)).sort_by("question_key"), BESIDE)


def _values(rows: pa.Table, metrics: list[str]) -> Values:
    """Return some columns, shape (rows, metrics); null is NaN."""
    columns = [rows[metric].cast(pa.float64()).to_numpy(zero_copy_only=False) for metric in metrics]
    return np.stack(columns, axis=1).astype(np.float64)


def _distinct(rows: pa.Table, column: str) -> list[str]:
    return sorted(pc.unique(rows[column]).to_pylist())
