"""A world of passages whose names are known, gold rows about them, and models that lose and forge rows.

Where relations are wanted, the first name of a passage is related to the second, the third to the fourth, and so on.
"""

import csv
import random
import re
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

from lightrag_dagster.evaluation.gold.rows import COLUMNS
from lightrag_dagster.settings import Settings, load_settings
from tests.loopback import Answer, Loopback
from tests.support import build, write_source

_NAME = re.compile(r"\b[A-Z][a-z]+(?:vik|dal|holm|nes)\d+\b")

Names: TypeAlias = Callable[[str], list[str]]
"""A function from a text to the names that stand in it."""


def passages(count: int, names: int = 8) -> dict[str, str]:
    """Return documents of one chunk each, with their paths; each names people that no other does."""
    ends = ("vik", "dal", "holm", "nes")
    return {
        f"{number}.md": " ".join(
            f"On day {at} of the survey {'ABCDEFGH'[at % 8]}nor{ends[at % 4]}{number} met the crew."
            for at in range(names)
        )
        for number in range(count)
    }


RATES = {"good": (0.1, 0.05), "bad": (0.3, 0.05), "same": (0.1, 0.05)}
"""The models of the home that `build_home` makes: the shares of names that they lose and forge."""

TEXTS = passages(24)
"""Its documents, in the source `notes`; the first 20 are gold."""

PRICE = (900 + 2 * 90) / 1e6
"""The price of an answer. US dollars."""


def settings_in(folder: Path, model: str = "good") -> Settings:
    """Return settings of the home in a folder, by a model."""
    return load_settings(
        home=folder / "home",
        sources=folder / "sources",
        llm={"provider": "openai", "model": model, "prices": {one: {"input": 1.0, "output": 2.0} for one in RATES}},
        extraction={"gleaning": 0},
        gold={"folder": folder / "gold"},
    )


def build_home(folder: Path, server: Loopback) -> None:
    """Publish a home by the model `good`, with gold about most of its passages."""
    server.chat = reads_with(RATES)
    write_source(settings_in(folder), "notes", TEXTS)
    build(settings_in(folder))
    write_gold(folder / "gold" / "people.csv", list(TEXTS.values())[:20])


def names_in(text: str) -> list[str]:
    """Return the names that stand in a text, in order."""
    return list(dict.fromkeys(_NAME.findall(text)))


def pairs_of(names: list[str]) -> list[tuple[str, str]]:
    """Return the names that are related."""
    return list(zip(names[::2], names[1::2], strict=False))


def chunk_name(content: str) -> str:
    """Return the name of a chunk in gold files."""
    return f"text-{sha256(content.encode()).hexdigest()[:12]}"


def write_gold(
    file: Path, texts: Iterable[str], verdict: str = "done", *, relations: bool = False, names: Names = names_in
) -> Path:
    """Write gold rows for every name of some texts: entities of type person, and their relations."""
    file.parent.mkdir(exist_ok=True)
    with file.open("w", newline="") as opened:
        rows = csv.writer(opened)
        rows.writerow(COLUMNS)
        for text in texts:
            chunk, found = chunk_name(text), names(text)
            rows.writerow([chunk, "passage", "", "", "", "", "", verdict, text])
            rows.writerows([chunk, "entity", one, "", "person", "", "", "", ""] for one in found)
            rows.writerows(
                [chunk, "relation", one, other, "", "", "", "", ""] for one, other in pairs_of(found) if relations
            )
    return file


def reads_with(
    rates: Mapping[str, tuple[float, float]], *, relations: bool = False, names: Names = names_in
) -> Callable[[dict[str, Any]], Answer]:
    """Return a model for the loopback server that finds the names of a passage, and their relations.

    Args:
        rates: the name of a model, up to a hyphen → the shares of rows that it loses and forges; other words after the
            hyphen make other chances.
        relations: whether it finds relations too.
        names: the names that stand in a question.
    """

    def chat(body: dict[str, Any]) -> Answer:
        lost, forged = rates[body["model"].partition("-")[0]]
        found = names(body["messages"][-1]["content"])
        chance = random.Random(f"{body['model']} {found}")
        mark = sha256(str(found).encode()).hexdigest()[:6]

        def drawn(rows: list[str], forge: Callable[[int], str]) -> list[str]:
            kept = [one for one in rows if chance.random() >= lost]
            return kept + [forge(number) for number in range(len(rows)) if chance.random() < forged]

        rows = drawn(
            [f"entity<|#|>{one}<|#|>person<|#|>{one} met the crew." for one in found],
            lambda number: f"entity<|#|>Forged{number}{mark}<|#|>person<|#|>A forged name.",
        )
        rows += drawn(
            [
                f"relation<|#|>{one}<|#|>{other}<|#|>meeting<|#|>They met."
                for one, other in (pairs_of(found) if relations else ())
            ],
            lambda number: f"relation<|#|>{found[2 * number]}<|#|>Forged{number}{mark}<|#|>meeting<|#|>A forged one.",
        )
        return Answer(
            "\n".join([*rows, "<|COMPLETE|>"]),
            usage={"prompt_tokens": 900, "completion_tokens": 90, "total_tokens": 990},
        )

    return chat
