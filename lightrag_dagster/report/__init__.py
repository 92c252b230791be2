"""Room with a door: one page of HTML about a snapshot, which asks no network. Others use the names here alone."""

from lightrag_dagster.report.writing import published_picture, published_report, write_report_to
