"""An evaluation as people read it: a row a mode, and what changed."""

from collections.abc import Collection, Sequence

import pyarrow as pa

from lightrag_dagster.evaluation.summary import METRICS, Change, K

_HEADINGS = {
    "recall": f"recall@{K}",
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


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Return a heading and rows as a Markdown table."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]])


def _shown(metric: str, row: dict[str, float] | None, with_interval: bool) -> str:
    if row is None:
        return ""
    digits = 0 if metric in _WHOLE_NUMBERS else 3
    interval = f" [{row['low']:.{digits}f}, {row['high']:.{digits}f}]" if with_interval else ""
    return f"{row['mean']:.{digits}f}{interval}"
