"""Gold pairs of names: what the merge joins and `curate review` finds, on two public collections, and their homonyms.

    git clone …/benseverndev-oss/goldenmatch
    python -m benchmarks.gold_names --data goldenmatch/packages/python/goldenmatch/benchmarks

The folder has `er-kg-bench/dataset/*.csv` and `clear-kg/generate.py`, which is run in a process of its own; nothing of
them is in this repository, and what is not in the folder is left out and named. Each record is a document of one
passage. A loopback model says exactly the record's name, its type and what is said of it, in CLEAR-KG also the names
beside it and a relation to each; vectors are those of the offline embedder. Homes are built and scored by `score_names`
over all pairs of records; two records of one name whose things are two are a pair of homonyms.

`shown` is all pairs that `curate review` writes. `accepted` has the decisions of `curate review --accept`, `reviewed`
those of a person who answers every pair that is shown, and knows. Collections with homonyms are built once more after
`curate split`, with a decision for each further thing of a name, by the paths of its documents.
"""

import argparse
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from lightrag_dagster.core.identity import name_key
from lightrag_dagster.curation.desk import accept, duplicate_candidates, pairs_of, take, undo
from lightrag_dagster.curation.rules import Decision, taken
from lightrag_dagster.evaluation.gold.names import NamesScore, score_names
from lightrag_dagster.evaluation.gold.rows import GoldRow
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.settings import load_settings
from lightrag_dagster.testing.building import build_knowledge_base
from tests.loopback import END_MARK, Loopback, serving

_COLUMNS = "precision  recall      F1  homonyms apart"
_GENERATE = "import json, sys, generate; print(json.dumps(generate.generate_corpus(**json.loads(sys.argv[1]))))"
_SIZES = ({"n_entities": 20, "n_homograph_pairs": 5}, {"n_entities": 60, "n_homograph_pairs": 15})
"""The two corpora of CLEAR-KG whose scores are published, of one seed."""


@dataclass(frozen=True)
class Record:
    """A mention: a name, what is said of it, the thing that it means, and its class; beside it, other names."""

    name: str
    type: str
    said: str
    thing: str
    group: str = ""
    beside: tuple[str, ...] = ()


class Collection:
    """Records as a published home, and the pairs of them that are one or not."""

    def __init__(self, records: Sequence[Record], folder: Path, server: Loopback) -> None:
        self._records, self._folder, self._server = records, folder, server
        # The names of records; those of parts, once decisions split them.
        self._names = [one.name for one in records]
        self._options: dict[str, Any] = {
            "llm": {"provider": "openai", "model": "exact"},
            "extraction": {"gleaning": 0},
            "merging": {"summary_min_descriptions": 10_000, "summary_min_tokens": 1_000_000},
        }
        self.settings = load_settings(
            home=folder / "home", sources=folder / "sources", embedding={"provider": "offline"}, **self._options
        )

    def build(self) -> Situation:
        """Build and publish a home of the records, by the decisions in force."""
        self._server.chat = self._answer
        texts = {f"records/{at:04}.txt": f"Record {at}. {one.said}" for at, one in enumerate(self._records)}
        build_knowledge_base(self._folder, texts, **self._options)
        return Situation.looking(self.settings)

    def _answer(self, body: dict[str, Any]) -> str:
        found = re.search(r"Record (\d+)\.", body["messages"][-1]["content"])
        assert found, "the passage of a record begins with its number"
        one = self._records[int(found[1])]
        rows: list[tuple[str, ...]] = [("entity", one.name, one.type, one.said)]
        rows += [("entity", other, "other", one.said) for other in one.beside]
        rows += [("relation", one.name, other, "named together", one.said) for other in one.beside]
        return "\n".join([*("<|#|>".join(row) for row in rows), END_MARK])

    def split(self) -> int:
        """Part homonyms by decisions, and return how many these are."""
        things = defaultdict[str, dict[str, list[int]]](dict)
        for at, one in enumerate(self._records):
            things[name_key(one.name)].setdefault(one.thing, []).append(at)
        decisions = []
        for of_name in things.values():
            for thing, places in list(of_name.items())[1:]:
                name, paths = self._records[places[0]].name, tuple(f"{at:04}.txt" for at in places)
                new = f"{name} ({thing})"
                decisions.append(Decision(action="split", names=(name,), into=new, paths=paths))
                for at in places:
                    self._names[at] = new
        if decisions:
            take(self.settings, decisions)
        return len(decisions)

    def pairs(self, group: str = "") -> list[GoldRow]:
        """Return all pairs of records as gold rows, or those within one class."""
        chosen = [at for at, one in enumerate(self._records) if group in ("", one.group)]
        return [
            GoldRow("", "names", self._names[one], self._names[other], "", "", "", self._is_one(one, other), f"{one}")
            for one, other in combinations(chosen, 2)
        ]

    def _is_one(self, one: int, other: int) -> bool:
        return self._records[one].thing == self._records[other].thing

    def homonyms(self) -> list[GoldRow]:
        """Return the pairs of records that have one name and are two things."""
        keys = [name_key(one.name) for one in self._records]
        same = [keys[one] == keys[other] for one, other in combinations(range(len(keys)), 2)]
        return [row for row, is_same in zip(self.pairs(), same, strict=True) if is_same and not row.right]

    def review(self, situation: Situation) -> int:
        """Merge each pair of names that is shown, and of which a record each means the same; return how many."""
        things = defaultdict[str, set[str]](set)
        for name, one in zip(self._names, self._records, strict=True):
            things[name_key(name)].add(one.thing)
        decisions = [
            Decision(action="merge", names=(row["name"], row["other"]))
            for row in duplicate_candidates(situation).rows.to_pylist()
            if row["verdict"] != "unlikely" and things[name_key(row["name"])] & things[name_key(row["other"])]
        ]
        if decisions:
            take(self.settings, decisions)
        return len(decisions)


def measure(title: str, collection: Collection, *, splitting: bool = False) -> int:
    """Print the scores of a collection, with `splitting` after its homonyms are parted; return how many these are."""
    split = collection.split() if splitting else 0
    pairs, homonyms = collection.pairs(), collection.homonyms()
    situation = collection.build()
    print(f"\n{title}{f', {split} decisions to split' if splitting else ''}: {len(pairs):,} pairs of records,")
    print(f"{sum(one.right for one in pairs):,} of them one; {len(homonyms):,} pairs of homonyms\n{'':44}{_COLUMNS}")

    def show(rule: str, at: int) -> None:
        now = Situation.looking(collection.settings)
        apart = 1 - len(score_names(now, homonyms)[at].wrong) / max(len(homonyms), 1)
        print(f"{rule:44}{shares(score_names(now, pairs)[at])}  {apart:14.3f}", flush=True)

    for at, rule in enumerate(("joined by spelling", "likely too, as `gold score` says", "shown")):
        show(rule, at)
    of_classes(collection, situation)
    steps: dict[str, Callable[[], int]] = {
        "accepted": lambda: len(accept(collection.settings, found).taken),
        "reviewed": lambda: collection.review(situation),
    }
    found = pairs_of(situation, duplicate_candidates(situation).rows)
    for step, decide in steps.items():
        before = {one.number for one in taken(situation.home)}
        count = decide()
        show(f"{step}: {count} merges, of {len(found)} pairs shown", 0)
        if new := [one.number for one in taken(situation.home) if one.number not in before]:
            undo(collection.settings, new)
    return len(homonyms)


def of_classes(collection: Collection, situation: Situation) -> None:
    """Print precision, recall and F1 of what is likely and of what is shown, within each class of records."""
    for group in sorted({one.group for one in collection._records} - {""}):
        _, likely, shown = score_names(situation, collection.pairs(group))
        print(f"  {group:22} likely {shares(likely)}   shown {shares(shown)}")


def shares(one: NamesScore) -> str:
    """Return precision, recall and F1; without a pair, precision is 1."""
    wrong, missed = len(one.wrong), len(one.missed)
    precision = one.right / (one.right + wrong) if one.right + wrong else 1.0
    recall = one.right / (one.right + missed) if one.right + missed else 1.0
    return f"{precision:9.3f} {recall:7.3f} {2 * one.right / max(2 * one.right + wrong + missed, 1):7.3f}"


def of_bench(file: Path) -> list[Record]:
    """Return the records of a file of ER-KG-Bench."""
    with file.open(encoding="utf-8", newline="") as lines:
        return [
            Record(row["mention"], row["entity_type"], row["context"], row["entity_id"], row["failure_class"])
            for row in csv.DictReader(lines)
        ]


def of_clear(folder: Path, size: dict[str, int]) -> list[Record]:
    """Return the mentions of a corpus that CLEAR-KG generates."""
    command = [sys.executable, "-c", _GENERATE, json.dumps(size)]
    made = json.loads(subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout)
    types = {one["entity_id"]: one["typ"].lower() for one in made["entities"]}
    return [
        Record(
            one["surface"],
            types[one["gold_entity_id"]],
            made["docs"][one["doc_id"]],
            one["gold_entity_id"],
            beside=tuple(one["neighbor_surfaces"]),
        )
        for one in made["mentions"]
    ]


def collections(data: Path) -> Iterator[tuple[str, list[Record]]]:
    """Yield the collections that a folder has, and print which it has not."""
    for name in ("records", "records_ghsuite"):
        if (file := data / "er-kg-bench" / "dataset" / f"{name}.csv").is_file():
            yield f"ER-KG-Bench, {name}", of_bench(file)
        else:
            print(f"There is no {file}: ER-KG-Bench, {name}, is left out.")
    if (folder := data / "clear-kg").is_dir():
        for size in _SIZES:
            yield f"CLEAR-KG, {size['n_entities']} things", of_clear(folder, size)
    else:
        print(f"There is no {folder}: CLEAR-KG is left out.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, serving() as server:
        os.environ |= {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "none"}
        for number, (title, records) in enumerate(collections(given.data)):
            if measure(title, Collection(records, Path(scratch) / f"{number}", server)):
                measure(title, Collection(records, Path(scratch) / f"{number}-split", server), splitting=True)


if __name__ == "__main__":
    main()
