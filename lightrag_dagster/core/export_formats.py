"""The formats in which a snapshot is written for other programs."""

from typing import Literal

ExportFormat = Literal["tables", "graphml", "facts", "neo4j", "okf"]

REPORT = "report"
"""The page to look at, which is kept like an export, and written by a command and an asset of its own."""

REPORT_FILE = "report.html"

REPORT_REVISION = "9"
"""Revision of the page: one of another revision is made again."""

EXPORT_REVISION = "5"
