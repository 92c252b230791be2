"""The share of labelled names that are found with their type; `labelled/README.md` says how they were drawn."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lightrag_dagster.offline.entity_types import OTHER
from lightrag_dagster.offline.extractor import extract

FOLDER = Path(__file__).parent / "labelled"
ROOT = Path(__file__).parents[2]


def lines(name: str, *, held_out: bool) -> Iterator[dict[str, Any]]:
    read = map(json.loads, (FOLDER / name).read_text("utf-8").splitlines())
    return (line for line in read if line["held_out"] == held_out)


def types_of(text: str) -> dict[str, str]:
    return {spelled(entity.name): entity.type for entity in extract(text).entities}


def spelled(name: str) -> str:
    return name.casefold().strip('"“”.,!? ').removeprefix("the ")


def judged(found: str | None, right: list[str]) -> str:
    if found in (None, OTHER):
        return "missed" if found is None else "untyped"
    return "right" if found in right else "wrong"


@pytest.mark.parametrize(("held_out", "names"), [(False, 197), (True, 243)])
def test_most_names_are_found_and_few_with_a_wrong_type(*, held_out: bool, names: int) -> None:
    counts: Counter[str] = Counter()
    for line in lines("names.jsonl", held_out=held_out):
        found = types_of(line.get("text") or (ROOT / line["from"]).read_text("utf-8"))
        counts.update(judged(found.get(spelled(name)), types.split("|")) for name, types in line["names"].items())
    assert counts.total() == names
    assert counts["missed"] <= 0.1 * names
    assert counts["right"] >= 0.6 * names
    assert counts["wrong"] <= 0.05 * (counts["right"] + counts["wrong"])


@pytest.mark.parametrize("held_out", [False, True])
def test_a_type_that_is_given_is_right_in_any_field(*, held_out: bool) -> None:
    counts: Counter[str] = Counter()
    for line in lines("mentions.jsonl", held_out=held_out):
        counts[judged(types_of(line["text"]).get(spelled(line["name"])), line["types"])] += 1
    assert counts.total() == 100
    assert counts["missed"] <= 1
    assert counts["right"] >= 0.9 * (counts["right"] + counts["wrong"])  # 0.50 and 0.45 before
    assert counts["right"] >= 12
