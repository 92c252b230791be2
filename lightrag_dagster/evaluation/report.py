"""An evaluation as people read it: a row a mode, and what changed."""

from collections.abc import Collection, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.evaluation.bootstrap import Interval
from lightrag_dagster.evaluation.summary import BESIDE, METRICS, Advantage, Carriers, Change, K, Verdict, find_carriers

_HEADINGS = {
    "recall": f"recall@{K}",
    "recall_at_2": "recall@2",
    "precision": f"precision@{K}",
    "mrr": "MRR",
    "ndcg": f"nDCG@{K}",
    "milliseconds": "ms",
    "context_tokens": "tokens",
    "f1": "F1",
    "exact_match": "exact match",
}


def cells(summary: pa.Table, intervals: Collection[str] = METRICS) -> list[list[str]]:
    """Return a heading and a row for each mode, best recall first: every metric, some with their intervals."""
    means = {(row["mode"], row["metric"]): row for row in summary.to_pylist()}
    modes = sorted({mode for mode, _ in means}, key=lambda mode: (-means[mode, "recall"]["mean"], mode))
    metrics = [metric for metric in METRICS if any((mode, metric) in means for mode in modes)]
    rows = [
        [mode, *(_shown(metric, means.get((mode, metric)), metric in intervals) for metric in metrics)]
        for mode in modes
    ]
    return [["mode", *(_HEADINGS.get(metric, metric) for metric in metrics)], *rows]


def change_cells(changes: Sequence[Change]) -> list[list[str]]:
    """Return a heading and a row for each change."""
    shown = [["mode", "metric", "before", "now", "difference", ""]]
    for one in changes:
        means = [f"{one.before:.3f}", f"{one.after:.3f}"]
        dropped = "dropped" if one.dropped else ""
        shown.append([one.mode, _HEADINGS[one.metric], *means, _difference(one.difference), dropped])
    return shown


def advantage_cells(advantages: Sequence[Advantage]) -> list[list[str]]:
    """Return a heading and a row for each mode and control: what the mode finds beyond it, with intervals."""
    shown: dict[tuple[str, str], list[str]] = {}
    for one in advantages:
        shown.setdefault((one.mode, one.control), []).append(_difference(one.difference))
    return [
        ["mode", "beside", *(_HEADINGS[metric] for metric in BESIDE)],
        *([*key, *row] for key, row in shown.items()),
    ]


def verdict(judged: Verdict) -> str:
    """Return one sentence on how the default mode stands, with what to do when another is better."""
    better, sooner = (
        ", ".join(f"{one.mode} by {one.difference.mean:.3f}" for one in modes)
        for modes in (judged.better, judged.sooner)
    )
    if better:
        set_it = f"set `query.mode` to {judged.better[0].mode}"
        return f"more than the default mode {judged.default} find: {better} (recall@{K}); {set_it}"
    said = f"no mode finds more than the default mode {judged.default} (recall@{K})"
    if judged.too_few:
        said = f"fewer than ten questions do not tell if a mode finds more than {judged.default}; add some"
    highest = f"highest means: {judged.best or 'none measured'}"
    return f"{said}; {highest}; nearer to the top find: {sooner} (MRR)" if sooner else f"{said}; {highest}"


def carried(by: Carriers) -> str:
    """Return one sentence on whether vectors, words or the graph find what should be found."""
    said = {"words": "words find more than vectors", "vectors": "vectors find more than words"}
    base = f"{said.get(_carrier(by), 'words and vectors find as much')}: bm25 is {_difference(by.words)} beside naive"
    graph = f"{by.mode} is {_difference(by.graph)} beside {by.without} (recall@{K})"
    if by.graph.low > 0:
        return f"{base}; the graph adds to them: {graph}"
    return f"{base}; the graph {'loses some' if by.graph.high < 0 else 'adds nothing beyond chance'}: {graph}"


def language_cells(rows: Mapping[str, pa.Table]) -> list[list[str]]:
    """Return a heading, recall by language in a row for each mode, and what finds most.

    Args:
        rows: EVALUATED_QUESTIONS by language.
    """
    means = {
        (mode["mode"], language): mode["recall_mean"]
        for language, of in rows.items()
        for mode in of.group_by("mode").aggregate([("recall", "mean")]).to_pylist()
    }
    modes = sorted({mode for mode, _ in means}, key=lambda mode: (-sum(means[mode, one] for one in rows), mode))
    best = {one: max(means[mode, one] for mode in modes) for one in rows}
    stars = {key: "*" if mean == best[key[1]] else "" for key, mean in means.items()}
    heading = ["mode", *(f"{one} ({len(pc.unique(of['question_key'])):,})" for one, of in rows.items())]
    shown = [[mode, *(f"{stars[mode, one]}{means[mode, one]:.3f}" for one in rows)] for mode in modes]
    found = [
        by and f"{_carrier(by)}{' and graph' if by.graph.low > 0 else ''}" for by in map(find_carriers, rows.values())
    ]
    return [heading, *shown, *([["found by", *map(str, found)]] if all(found) else [])]


def _carrier(by: Carriers) -> str:
    return "words" if by.words.low > 0 else "vectors" if by.words.high < 0 else "either"


def _difference(one: Interval) -> str:
    return f"{one.mean:+.3f} [{one.low:+.3f}, {one.high:+.3f}]"


def _shown(metric: str, row: dict[str, float] | None, with_interval: bool) -> str:
    if row is None:
        return ""
    digits = 0 if metric in {"milliseconds", "context_tokens"} else 3
    interval = f" [{row['low']:.{digits}f}, {row['high']:.{digits}f}]" if with_interval else ""
    return f"{row['mean']:.{digits}f}{interval}"
