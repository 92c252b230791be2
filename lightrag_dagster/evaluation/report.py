"""An evaluation as people read it: a table a mode, what changed, and a chart."""

import base64
from collections.abc import Collection, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.evaluation.bootstrap import Estimate
from lightrag_dagster.evaluation.chart import chart
from lightrag_dagster.evaluation.summary import METRICS, Change

_SHARES = {"recall", "precision", "mrr", "ndcg", "exact_match", "f1", "faithfulness", "relevance"}

_SHORT = {"milliseconds": "ms", "context_tokens": "tokens", "f1": "F1"}


def title(metric: str, k: int) -> str:
    """Return how a metric is headed."""
    headings = {"recall": f"recall@{k}", "precision": f"precision@{k}", "mrr": "MRR", "ndcg": f"nDCG@{k}"}
    return headings.get(metric) or _SHORT.get(metric, metric.replace("_", " "))


def cells(summary: pa.Table, k: int, intervals: Collection[str] = METRICS) -> list[list[str]]:
    """Return a heading and a row for each mode, best recall first: every metric, some with their intervals."""
    means = {(row["mode"], row["metric"]): row for row in summary.to_pylist()}
    modes = sorted({mode for mode, _ in means}, key=lambda mode: (-means[mode, "recall"]["mean"], mode))
    metrics = [metric for metric in METRICS if any((mode, metric) in means for mode in modes)]
    rows = [
        [mode, *(_shown(metric, means.get((mode, metric)), metric in intervals) for metric in metrics)]
        for mode in modes
    ]
    return [["mode", *(title(metric, k) for metric in metrics)], *rows]


def change_cells(changes: Sequence[Change], k: int) -> list[list[str]]:
    """Return a heading and a row for each change."""
    rows = [
        [
            one.mode,
            title(one.metric, k),
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


def image(summary: pa.Table, metric: str, k: int) -> str:
    """Return a Markdown image, with the SVG in it: the mean of a metric in each mode, best first, and its interval."""
    measured = summary.filter(pc.equal(summary["metric"], metric)).to_pylist()
    rows = [(row["mode"], Estimate(*(row[name] for name in Estimate._fields))) for row in measured]
    rows.sort(key=lambda row: (-row[1].mean, row[0]))
    heading = f"{title(metric, k)}, {rows[0][1].questions} questions, 95% intervals"
    data = base64.b64encode(chart(heading, rows).encode()).decode()
    return f"![{heading}](data:image/svg+xml;base64,{data})"


def _shown(metric: str, row: dict[str, float] | None, with_interval: bool) -> str:
    if row is None:
        return ""
    digits = 3 if metric in _SHARES else 0
    interval = f" [{row['low']:.{digits}f}, {row['high']:.{digits}f}]" if with_interval else ""
    return f"{row['mean']:.{digits}f}{interval}"
