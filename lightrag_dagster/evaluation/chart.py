"""A chart of means with their intervals, as SVG."""

from collections.abc import Sequence
from io import StringIO

from lightrag_dagster.evaluation.bootstrap import Estimate

_INCHES = 7.0
_INCHES_PER_ROW = 0.35


def chart(title: str, rows: Sequence[tuple[str, Estimate]]) -> str:
    """Return SVG with a line for each row: its name, its mean as a dot, and its interval. All lie in 0..1.

    The same rows give the same text.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    names, estimates = [name for name, _ in rows], [one for _, one in rows]
    means = [one.mean for one in estimates]
    ends = [[one.mean - one.low for one in estimates], [one.high - one.mean for one in estimates]]
    with mpl.rc_context({"svg.hashsalt": "lightrag_dagster", "svg.fonttype": "none"}):
        figure = Figure(figsize=(_INCHES, 1.0 + _INCHES_PER_ROW * len(rows)), layout="tight")
        axes = figure.add_subplot()
        axes.errorbar(means, range(len(rows)), xerr=ends, fmt="o")
        axes.set(title=title, xlim=(0.0, 1.0))
        axes.set_yticks(range(len(rows)), [f"{name}  {mean:.3f}" for name, mean in zip(names, means, strict=True)])
        axes.invert_yaxis()
        axes.grid(axis="x")
        written = StringIO()
        figure.savefig(written, format="svg", metadata={"Date": None})
    return written.getvalue()
