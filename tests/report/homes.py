"""Reports of homes of tests."""

from contextlib import closing

from lightrag_dagster import Filters
from lightrag_dagster.query.snapshot import open_snapshot
from lightrag_dagster.report.bounds import BOUNDS, PageBounds
from lightrag_dagster.report.writing import Report, report_of
from lightrag_dagster.storage.home import Home


def report(home: Home, filters: Filters | None = None, bounds: PageBounds = BOUNDS) -> Report:
    """Return the report of the published snapshot."""
    with closing(open_snapshot(home, None)) as snapshot:
        return report_of(snapshot, filters, bounds)
