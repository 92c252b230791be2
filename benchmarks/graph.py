"""How long questions to the graph take, and whether its paths are those of networkx.

    pip install networkx
    python -m benchmarks.graph HOME --source NAME --pairs 1000

HOME is published. Prints seconds of the methods at the median and at the 95th percentile over names of random entities,
without and with a filter by source, the first question apart; seconds of each command, in a process of its own; and of
random pairs of entities, the number for which networkx has the same lengths by hops and by the sum of 1 / weight, of
equal paths the same first one, and the same distances within two hops; last, communities beside Louvain.
"""

import argparse
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from lightrag_dagster import Filters, KnowledgeBase
from lightrag_dagster.indexes.communities import find_communities
from lightrag_dagster.query.snapshot import Snapshot
from lightrag_dagster.query.walking import costs_of, hops_from, lengths_from, walk
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.storage.snapshots.snapshots import require_published

STARTS = 20
"""Random entities whose paths to one end are compared."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("home", type=Path)
    parser.add_argument("--source", required=True, help="a source to filter by")
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--names", type=int, default=50, help="entities that are asked about")
    given = parser.parse_args()
    chance = random.Random(1)
    with KnowledgeBase.open(given.home) as knowledge:
        print(knowledge)
        measure(knowledge, chance, given.names, None)
        measure(knowledge, chance, given.names, Filters(sources=given.source))
        commands(given.home, names(knowledge, chance, 2))
        compare(knowledge.snapshot, chance, given.pairs)
    compare_communities(given.home)


def names(knowledge: KnowledgeBase, chance: random.Random, number: int) -> list[str]:
    """Return the names of random entities with relations."""
    graph = knowledge.snapshot.graph
    ends = np.unique(graph.endpoints)
    rows = np.array(chance.sample(ends.tolist(), number), dtype=np.int32)
    return [entity["name"] for entity in graph.entities.take(rows)]


def measure(knowledge: KnowledgeBase, chance: random.Random, number: int, filters: Filters | None) -> None:
    asked, others = names(knowledge, chance, number), names(knowledge, chance, number)
    started = time.perf_counter()
    knowledge.find(asked[0], filters=filters)
    print(f"{filters or 'no filter'}: first question {time.perf_counter() - started:.2f} s")
    methods: dict[str, Callable[[str, str], Any]] = {
        "find": lambda one, _: knowledge.find(one, filters=filters),
        "find, misspelt": lambda one, _: knowledge.find(one[:2] + one[3:], filters=filters),
        "entity": lambda one, _: knowledge.entity(one, filters=filters),
        "neighbours, 1 hop": lambda one, _: knowledge.neighbours(one, filters=filters),
        "neighbours, 3 hops": lambda one, _: knowledge.neighbours(one, 3, filters=filters),
        "path": lambda one, other: knowledge.path(one, other, filters=filters),
    }
    for label, method in methods.items():
        seconds, processor = [], []
        for one, other in zip(asked, others, strict=True):
            started, used = time.perf_counter(), time.process_time()
            method(one, other)
            seconds.append(time.perf_counter() - started)
            processor.append(time.process_time() - used)
        median, high = np.percentile(seconds, (50, 95)) * 1000
        print(f"  {label:20} {median:6.0f} ms  {high:6.0f} ms  processor {np.median(processor) * 1000:6.0f} ms")


def commands(home: Path, asked: list[str]) -> None:
    one, other = asked
    for arguments in (["find", one], ["entity", one], ["neighbours", one, "--hops", "2"], ["path", one, other]):
        started, used = time.perf_counter(), sum(os.times()[2:4])
        subprocess.run(
            [sys.executable, "-m", "lightrag_dagster", "--home", str(home), *arguments, "--json"],
            env=os.environ, check=True, capture_output=True,
        )  # fmt: skip
        spent = sum(os.times()[2:4]) - used
        print(f"  command {arguments[0]:12} {time.perf_counter() - started:6.2f} s  processor {spent:6.2f} s")


def compare(snapshot: Snapshot, chance: random.Random, number: int) -> None:
    """Print how many of random pairs have the same lengths and paths in networkx; some pairs share an end."""
    graph, costs, known = snapshot.graph, costs_of(snapshot.graph), nx.Graph()
    known.add_nodes_from(range(len(graph.entities.ids)))
    known.add_weighted_edges_from((a, b, cost) for (a, b), cost in zip(graph.endpoints.tolist(), costs, strict=True))
    same, connected = Counter[str](), 0
    for end in chance.sample(range(len(known)), number // STARTS):
        hops, lengths = hops_from(graph, end), lengths_from(snapshot.strengths, end)
        known_hops = nx.single_source_shortest_path_length(known, end)
        known_lengths = nx.single_source_dijkstra_path_length(known, end)
        near = hops_from(graph, end, 2)
        same["neighbourhoods"] += {row for row, hop in known_hops.items() if hop <= 2} == set(np.flatnonzero(near < 3))
        for start in chance.sample(range(len(known)), STARTS):
            same["hops"] += hops[start] == known_hops.get(start, np.inf)
            same["weight"] += bool(np.isclose(lengths[start], known_lengths.get(start, np.inf), rtol=1e-9))
            if start in known_hops:
                connected += 1
                shortest = walked(start, walk(graph, start, hops, None))
                same["path by hops"] += shortest == first(nx.all_shortest_paths(known, start, end))
                strongest = walked(start, walk(graph, start, lengths, costs))
                same["path by weight"] += bool(np.isclose(nx.path_weight(known, strongest, "weight"), lengths[start]))
    counts = ", ".join(f"{name} {int(value)}" for name, value in same.items())
    print(f"networkx: {number} pairs, {number // STARTS} ends, {connected} connected; the same: {counts}")


def compare_communities(home: Path) -> None:
    """Print seconds, numbers and modularity of our communities beside those of Louvain by networkx."""
    generation = Generation(Home(home), require_published(Home(home)).snapshot_id)
    relations = generation.read_table("relations", ["src_id", "tgt_id", "weight"])
    entities = generation.read_table("entities", ["entity_id", "name", "description", "degree"])
    started = time.perf_counter()
    found = find_communities(entities, relations)
    seconds = time.perf_counter() - started
    known = nx.Graph()
    known.add_weighted_edges_from(zip(*(relations[name].to_pylist() for name in relations.column_names), strict=True))
    ours = [row["entity_ids"] for row in found.to_pylist() if row["level"] == 0]
    started = time.perf_counter()
    theirs = nx.community.louvain_communities(known, seed=1)
    louvain = time.perf_counter() - started
    values = [nx.community.modularity(known, groups) for groups in (ours, theirs)]
    print(
        f"communities: {len(ours)} of level 0, {found.num_rows} in all, {seconds:.1f} s, modularity {values[0]:.4f}; "
        f"networkx's Louvain: {len(theirs)}, {louvain:.1f} s, modularity {values[1]:.4f}"
    )


def first(paths: Iterator[list[int]]) -> list[int]:
    """Return the first of some paths by the rows, and so the ids, of their entities."""
    return min(paths)


def walked(start: int, steps: list[tuple[int, int]]) -> list[int]:
    return [start, *(entity for _, entity in steps)]


if __name__ == "__main__":
    main()
