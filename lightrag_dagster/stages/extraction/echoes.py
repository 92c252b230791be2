"""Echoes: records that repeat the prompt in place of what the passage says, as small models make them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from lightrag_dagster.stages.extraction.records import EntityRecord, RelationRecord
from lightrag_dagster.stages.extraction.rejections import OF_DEFINITION, OF_EXAMPLE, Rejected
from lightrag_dagster.stages.prompts import Prompts

Record = TypeVar("Record", EntityRecord, RelationRecord)

# A shorter definition, or description, may be in a text by chance.
_FEWEST_WORDS = 4


@dataclass(frozen=True)
class Echoes:
    """The parts of a prompt that a model may repeat: names and texts of the examples, and definitions of types."""

    names: re.Pattern[str]
    examples: str
    definitions: tuple[str, ...]

    @classmethod
    def of(cls, prompts: Prompts) -> "Echoes":
        """Return the echoes of the prompts of extraction."""
        lines = (line.partition(":")[2] for line in prompts.texts["entity_types"].splitlines())
        definitions = (_plain(part) for line in lines for part in (line, line.partition(", such as ")[0]))
        return cls(
            re.compile("|".join(rf"\b{re.escape(name)}\b" for name in prompts.echoes) or r"\Z.", re.IGNORECASE),
            " ".join(_plain(prompts.texts[name]) for name in ("extraction_system", "extraction_json")),
            tuple(dict.fromkeys(one for one in definitions if one.count(" ") >= _FEWEST_WORDS)),
        )

    def divide(self, records: Iterable[Record], passage: str) -> tuple[list[Record], list[Rejected]]:
        """Divide records into those about the passage, and echoes; what the passage says itself is none."""
        judged = [(record, self._echo(record, passage)) for record in records]
        return [one for one, echo in judged if not echo], [echo for _, echo in judged if echo]

    def _echo(self, record: EntityRecord | RelationRecord, passage: str) -> Rejected | None:
        names = record.name if isinstance(record, EntityRecord) else f"{record.src}\n{record.tgt}"
        described = _plain(record.description)
        found = [(one, OF_EXAMPLE) for one in self.names.findall(names)]
        if described.count(" ") >= _FEWEST_WORDS and described in self.examples:
            found.append((described, OF_EXAMPLE))
        found += [(one, OF_DEFINITION) for one in self.definitions if one in described]
        known = _plain(passage) if found else ""
        return next((echo for text, echo in found if _plain(text) not in known), None)


def _plain(text: str) -> str:
    """Return a text in lower case, with single spaces and without the marks at its ends."""
    return " ".join(text.casefold().split()).strip(" .")
