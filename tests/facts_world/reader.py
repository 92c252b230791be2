"""A model that reads the documents of the world: it knows the sentences, and loses and forges some on purpose."""

import hashlib
import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

from lightrag_dagster.stages.facts import answers
from lightrag_dagster.stages.prompts.fencing import last_fenced
from tests.facts_world.prose import Sentence
from tests.facts_world.world import World
from tests.loopback import END_MARK
from tests.models.models import asks_for_facts, role_of

FORGED: dict[str, dict[str, str]] = {
    answers.WORDS_LACKING: {"words": "Nothing of the kind was ever written."},
    answers.OTHER_RELATION: {"relation": "owns"},
    answers.TIME_LACKING: {
        "when": "since 1850",
        "relation": "works_for",
        "subject_type": "",
        "object_type": "",
        "object": "X",
    },
    answers.OTHER_TYPE: {"subject_type": "planet"},
    answers.NO_SUBJECT: {"subject": ""},
    answers.VALUE_LACKING: {"relation": "price", "subject_type": "", "value": "€ 99,999"},
}
"""What is changed in a row to forge one, by the reason for which it is then rejected."""


@dataclass
class Reader:
    """Answers about chunks: for a pass the rows of their sentences, else their names in LightRAG's rows.

    Shares of the sentences, 0 to 1, are `lost`, or have a forged row beside their own.
    """

    world: World
    lost: float = 0.0
    forged: float = 0.0
    first_readings: int = 0
    passes: int = 0

    def chat(self, body: dict[str, Any]) -> str:
        """Answer a request to `/chat/completions`."""
        passage = last_fenced(body["messages"][-1]["content"]) or ""
        if role_of(body) == "extract":
            self.first_readings += 1
            return self._rows(passage)
        if not asks_for_facts(body):
            return "A summary."
        self.passes += 1
        return json.dumps({"facts": [row for one in self.world.read(passage) for row in self._said(one)]})

    def loses(self, sentence: Sentence) -> bool:
        """Say whether it leaves a sentence out."""
        return _share("lost", sentence.text) < self.lost

    def forges(self, sentence: Sentence) -> str | None:
        """Return the reason for which the row is rejected that it adds to a sentence; None if it adds none."""
        share = _share("forged", sentence.text)
        return [*FORGED][int(share * 1e6) % len(FORGED)] if share < self.forged else None

    def rejected(self, chunks: list[str]) -> Counter[str]:
        """Count the rows that it forges in the texts of chunks, by reason."""
        reasons = (self.forges(one) for text in chunks for one in self.world.read(text))
        return Counter(reason for reason in reasons if reason)

    def _said(self, sentence: Sentence) -> list[dict[str, str]]:
        reason = self.forges(sentence)
        own = [] if self.loses(sentence) else [sentence.row]
        return own + ([sentence.row | FORGED[reason]] if reason else [])

    def _rows(self, passage: str) -> str:
        rows = []
        for one in self.world.read(passage):
            row = one.row
            rows.append(f"entity<|#|>{row['subject']}<|#|>{row['subject_type']}<|#|>{one.text}")
            if row["relation"] == "led_by":
                rows.append(f"entity<|#|>{row['object']}<|#|>person<|#|>{one.text}")
                rows.append(f"relation<|#|>{row['subject']}<|#|>{row['object']}<|#|>management<|#|>{one.text}")
        return "\n".join([*dict.fromkeys(rows), END_MARK])


def _share(of: str, text: str) -> float:
    return int(hashlib.sha256(f"{of} {text}".encode()).hexdigest()[:8], 16) / 16**8
