"""An evaluation as people read it: a row a mode, and what changed."""

from collections.abc import Collection, Sequence

import pyarrow as pa

from lightrag_dagster.evaluation.summary import BESIDE, METRICS, Advantage, Change, K, Verdict

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
_WHOLE_NUMBERS = {"milliseconds", "context_tokens"}


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
    rows = [
        [
            one.mode,
            _HEADINGS[one.metric],
            f"{one.before:.3f}",
            f"{one.after:.3f}",
            f"{one.difference.mean:+.3f} [{one.difference.low:+.3f}, {one.difference.high:+.3f}]",
            "dropped" if one.dropped else "",
        ]
        for one in changes
    ]
    return [["mode", "metric", "before", "now", "difference", ""], *rows]


def advantage_cells(advantages: Sequence[Advantage]) -> list[list[str]]:
    """Return a heading and a row for each mode and control: what the mode finds beyond it, with intervals."""
    shown: dict[tuple[str, str], list[str]] = {}
    for one in advantages:
        interval = f"{one.difference.mean:+.3f} [{one.difference.low:+.3f}, {one.difference.high:+.3f}]"
        shown.setdefault((one.mode, one.control), []).append(interval)
    return [
        ["mode", "beside", *(_HEADINGS[metric] for metric in BESIDE)],
        *([*key, *row] for key, row in shown.items()),
    ]


def verdict(judged: Verdict) -> str:
    """Return one sentence on how the default mode stands, with what to do when another is better."""
    if judged.better:
        found = ", ".join(f"{one.mode} by {one.difference.mean:.3f}" for one in judged.better)
        return f"more than the default mode {judged.default} find: {found} (recall@{K}); set query.mode to one of them"
    return f"no mode finds more than the default mode {judged.default}; highest means: {judged.best or 'none measured'}"


def _shown(metric: str, row: dict[str, float] | None, with_interval: bool) -> str:
    if row is None:
        return ""
    digits = 0 if metric in _WHOLE_NUMBERS else 3
    interval = f" [{row['low']:.{digits}f}, {row['high']:.{digits}f}]" if with_interval else ""
    return f"{row['mean']:.{digits}f}{interval}"
