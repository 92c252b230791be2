"""The result of an export, and the text that some formats cannot hold."""

from collections.abc import Mapping
from dataclasses import dataclass, field

GRAPH_ALONE = "entities and relations alone; documents, passages and evidence are in the format tables"

FACTS_ALONE = "facts, what they are about and their values alone; the words that say them are in the format tables"


@dataclass(frozen=True)
class Written:
    """An export: the rows of each of its tables, by name of the file, and sentences about what it does not hold."""

    rows: Mapping[str, int]
    notes: tuple[str, ...] = ()
    figures: Mapping[str, int] = field(default_factory=dict)
    """Numbers of what it shows."""

    compared_with: str | None = None
    """Another snapshot of which it shows something."""
