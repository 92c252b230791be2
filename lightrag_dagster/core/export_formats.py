"""The formats in which a snapshot is written for other programs."""

from typing import Literal

ExportFormat = Literal["tables", "graphml", "neo4j"]
