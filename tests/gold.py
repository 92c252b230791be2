"""A world of passages whose names are known, gold rows about them, and models that lose and forge rows."""

import random
import re
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from tests.loopback import Answer

_NAME = re.compile(r"\b[A-Z][a-z]+(?:vik|dal|holm|nes)\d+\b")


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


def names_in(text: str) -> list[str]:
    """Return the names that stand in a text, in order."""
    return list(dict.fromkeys(_NAME.findall(text)))


def chunk_name(content: str) -> str:
    """Return the name of a chunk in gold files."""
    return f"text-{sha256(content.encode()).hexdigest()[:12]}"


def write_gold(file: Path, texts: Iterable[str], verdict: str = "done") -> Path:
    """Write gold rows for every name of some texts: entities of type person."""
    lines = ["chunk,kind,name,other,type,relation,value,verdict,text"]
    for text in texts:
        lines.append(f'{chunk_name(text)},passage,,,,,,{verdict},"{text}"')
        lines += [f"{chunk_name(text)},entity,{name},,person,,,," for name in names_in(text)]
    file.parent.mkdir(exist_ok=True)
    file.write_text("\n".join(lines) + "\n")
    return file


def reads_with(rates: Mapping[str, tuple[float, float]], seed: int = 0) -> Callable[[dict[str, Any]], Answer]:
    """Return a model for the loopback server that finds the names of a passage: model → share lost, share forged."""

    def chat(body: dict[str, Any]) -> Answer:
        lost, forged = rates[body["model"]]
        text = body["messages"][-1]["content"] if body["messages"] else ""
        names = names_in(text)
        chance = random.Random(f"{seed} {body['model']} {names}")
        kept = [one for one in names if chance.random() >= lost]
        kept += [
            f"Forged{number}{sha256(text.encode()).hexdigest()[:6]}"
            for number in range(len(names))
            if chance.random() < forged
        ]
        rows = [f"entity<|#|>{one}<|#|>person<|#|>{one} met the crew." for one in kept]
        return Answer(
            "\n".join([*rows, "<|COMPLETE|>"]),
            usage={"prompt_tokens": 900, "completion_tokens": 90, "total_tokens": 990},
        )

    return chat
