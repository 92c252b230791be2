"""Whether `fusion` finds more than vectors or words alone: sets from several fields and languages, before and after.

    python -m benchmarks.sets DATA… --embedder FILE --homes FOLDER --results FILE --before FILE

DATA, FILE and FOLDER are as in `benchmarks.multihop`; a DATA that has `questions.yaml` instead, such as examples/, has
files in `sources/`. Every set is asked with the offline embedder and with each that is given, in `fusion`, `naive` and
`bm25`, and in the modes of --modes.

Prints tables in Markdown: recall@1, recall@5, nDCG@10 and MRR in percent; by how much `fusion` differs from the better
of `naive` and `bm25` in each, with paired 95% bootstrap intervals; seconds of the processor to build the home, and
milliseconds of it, and of the clock, a question. Where questions name a language, each language follows its set.

--results keeps the values of each question in a Parquet file. --before reads such a file, made by another version of
the code, and tables of the differences to it follow. A home that exists is used again, and built again as far as
another version made it, so give each version homes of its own: a copy of the others keeps their vectors. Seconds to
build are noted when a home is built from nothing. Times depend on what else the machine does: compare those of two
runs in turn on a quiet one.
"""

import argparse
import json
import os
import resource
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.multihop import embedding_of, gold_of, prepared, rows_of
from benchmarks.pipeline import Meter
from lightrag_dagster import KnowledgeBase
from lightrag_dagster.evaluation.bootstrap import Values, estimates
from lightrag_dagster.evaluation.metrics import measure
from lightrag_dagster.evaluation.questions import FiledQuestion, read_question_file, with_gold
from lightrag_dagster.evaluation.retrieving import gold_of as gold_items
from lightrag_dagster.evaluation.retrieving import missing_gold, retrieve_all
from lightrag_dagster.orchestration.runner import bring_up_to_date
from lightrag_dagster.query.mode import MODES as ALL_MODES
from lightrag_dagster.query.mode import ModeName
from lightrag_dagster.settings import Settings, load_settings
from tests.loopback import Loopback, serving

CONTROLS = ("naive", "bm25")
MODES = ("fusion", *CONTROLS)
OTHERS = [name for name, mode in ALL_MODES.items() if mode.retrieves and name not in MODES]
METRICS = {"recall@1": ("recall", 1), "recall@5": ("recall", 5), "nDCG@10": ("ndcg", 10), "MRR": ("mrr", 10)}
"""Name → metric and number of chunks; MRR counts all."""


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--embedder", type=Path, action="append", default=[], help="ONNX file of a local model")
    parser.add_argument("--homes", type=Path, help="keep the homes here")
    parser.add_argument("--modes", nargs="*", default=[], choices=OTHERS, help="further modes")
    parser.add_argument("--results", type=Path, help="Parquet file to write")
    parser.add_argument("--before", type=Path, help="Parquet file to compare with")
    given = parser.parse_args(arguments)
    before = pq.read_table(given.before) if given.before else None
    cells = []
    with tempfile.TemporaryDirectory() as scratch, serving() as server:
        os.environ |= {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "none"}
        for embedder in (None, *given.embedder):
            for data in map(Path.resolve, given.data):
                kind = embedder.parts[-3] if embedder else "offline"
                folder = (given.homes or Path(scratch)) / f"{data.name}-{kind}"
                settings, seconds = home_of(data, embedder, folder, server)
                cells.append(cell(f"{data.name}, {kind}", settings, data, (*MODES, *given.modes), seconds))
                if given.results:
                    pq.write_table(pa.concat_tables(cells), given.results)
    print_tables(cells)
    if before is not None:
        print_differences(before, cells)


def home_of(data: Path, embedder: Path | None, folder: Path, server: Loopback) -> tuple[Settings, float | None]:
    """Bring the home of a set up to date; return its settings, and the processor's seconds if built from nothing."""
    noted, is_new, started = folder / "built.json", not folder.exists(), processor_seconds()
    if (data / "questions.yaml").exists():
        shutil.copytree(data / "sources", folder / "sources", dirs_exist_ok=True)
        settings = load_settings(home=folder / "home", sources=folder / "sources", embedding=embedding_of(embedder))
        bring_up_to_date(settings, [], Meter())
    else:
        settings = prepared(data, embedder, folder, server)
    with KnowledgeBase.open(settings=settings) as knowledge:
        snapshot = knowledge.snapshot_id
    if is_new:
        noted.write_text(json.dumps({snapshot: processor_seconds() - started}))
    return settings, json.loads(noted.read_text()).get(snapshot) if noted.exists() else None


def processor_seconds() -> float:
    """Return what this process and those that it waited for took of the processors."""
    used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def questions_of(data: Path) -> list[tuple[FiledQuestion, str | None]]:
    """Return the questions with their gold, and with their language, if the set names one."""
    if (data / "questions.yaml").exists():
        return [(one, None) for one in with_gold(read_question_file(data / "questions.yaml"))]
    repeated: Counter[str] = Counter()
    found = []
    for one, row in zip(gold_of(data), rows_of(data / "questions.jsonl"), strict=True):
        # Spaces tell a question from another of the same words, which has gold of its own.
        asked = one.model_copy(update={"question": one.question + " " * repeated[one.question]})
        repeated[one.question] += 1
        found.append((asked, row.get("language")))
    return found


def cell(name: str, settings: Settings, data: Path, modes: Sequence[str], seconds: float | None) -> pa.Table:
    """Ask all questions of one home; return a row for each mode and question, in the order of the questions.

    Raises:
        SystemExit: a document that should be found is not in the home.
    """
    asked = questions_of(data)
    questions, gold = [one for one, _ in asked], gold_items([one for one, _ in asked])
    rows = []
    with KnowledgeBase.open(settings=settings) as knowledge:
        if missing := missing_gold(knowledge, questions):
            raise SystemExit(f"{name}: {len(missing)} of its gold is not in the home, such as {missing[0]}")
        for mode in modes:
            knowledge.retrieve(questions[0].question, mode=cast(ModeName, mode))  # prepares what the first one does
            started = time.process_time()
            retrieved = retrieve_all(knowledge, questions, [mode])
            taken = 1000 * (time.process_time() - started) / (len(questions) + 1)  # it asks the first one twice
            values = {
                label: {row["question"]: row[metric] for row in measure(*retrieved, gold, k).to_pylist()}
                for label, (metric, k) in METRICS.items()
            }
            clock = retrieved.asked["milliseconds"].to_pylist()
            for (one, language), milliseconds in zip(asked, clock, strict=True):
                row = {"cell": name, "mode": mode, "language": language, "question": one.question}
                row |= {label: by_question[one.question] for label, by_question in values.items()}
                rows.append(row | {"milliseconds": milliseconds, "processor": taken, "built": seconds})
    print(f"{name}: {len(questions)} questions in {', '.join(modes)}", flush=True)
    text = [(column, pa.string()) for column in ("cell", "mode", "language", "question")]
    return pa.Table.from_pylist(rows, pa.schema([*text, *((one, pa.float64()) for one in list(rows[0])[4:])]))


def parts(cells: Sequence[pa.Table]) -> Iterator[tuple[str, pa.Table]]:
    """Yield the name and rows of each cell, then of each of its languages if it has several."""
    for one in cells:
        name = one["cell"][0].as_py()
        yield name, one
        languages = pc.unique(one["language"]).to_pylist()
        for language in languages if len(languages) > 1 else []:
            yield f"{name}, {language}", one.filter(pc.equal(one["language"], language))


def values_of(rows: pa.Table, mode: str) -> Values:
    """Return the METRICS of one mode in percent, shape (questions, metrics)."""
    chosen = rows.filter(pc.equal(rows["mode"], mode))
    return np.column_stack([100 * chosen[metric].to_numpy() for metric in METRICS])


def modes_of(rows: pa.Table) -> list[str]:
    return [str(mode) for mode in pc.unique(rows["mode"]).to_pylist()]


def print_tables(cells: Sequence[pa.Table]) -> None:
    """Print what each mode finds, and what `fusion` finds beside the better control."""
    every = modes_of(cells[0])
    heading(f"{' / '.join(METRICS)}, in percent", *every)
    for name, rows in parts(cells):
        print_row(name, *(" / ".join(f"{one:.1f}" for one in values_of(rows, mode).mean(axis=0)) for mode in every))
    heading("fusion over the better of naive and bm25", *METRICS)
    gains: dict[str, list[Values]] = {}
    for name, rows in parts(cells):
        gain = values_of(rows, "fusion") - better(rows)
        print_row(name, *intervals(gain))
        if name == rows["cell"][0].as_py():
            gains.setdefault(name.rpartition(", ")[2], []).append(gain.mean(axis=0))
    for embedder, means in gains.items():
        print_row(f"mean, {embedder}", *(f"{one:+.1f}" for one in np.mean(means, axis=0)))
    heading("processor s to build; ms a question by processor / clock", "built", *every)
    for one in cells:
        taken = (" / ".join(f"{milliseconds:.1f}" for milliseconds in times(one, mode)) for mode in every)
        print_row(one["cell"][0].as_py(), seconds(one), *taken)


def print_differences(before: pa.Table, cells: Sequence[pa.Table]) -> None:
    """Print by how much each cell differs from the one of the same name and questions before, and the cells without."""
    pairs = []
    for one in cells:
        name = one["cell"][0].as_py()
        old = before.filter(pc.equal(before["cell"], name))
        both = [mode for mode in modes_of(one) if mode in modes_of(old)]
        old, new = (rows.filter(pc.is_in(rows["mode"], pa.array(both))) for rows in (old, one))
        if both and old["question"].equals(new["question"]) and old["mode"].equals(new["mode"]):
            pairs.append((old, new, both))
        else:
            print(f"\n{name} is not compared: the file before has other questions, or none")
    heading("after − before", "mode", *METRICS)
    for old, new, both in pairs:
        for (name, earlier), (_, later) in zip(parts([old]), parts([new]), strict=True):
            for mode in both:
                print_row(name, mode, *intervals(values_of(later, mode) - values_of(earlier, mode)))
    every = modes_of(cells[0])
    heading("after ÷ before: building; ms a question by processor / clock", "built", *every)
    for old, new, both in pairs:
        ratios = [" / ".join(f"{b / a:.2f}" for a, b in zip(times(old, m), times(new, m), strict=True)) for m in both]
        a, b = old["built"][0].as_py(), new["built"][0].as_py()
        print_row(new["cell"][0].as_py(), f"{b / a:.2f}" if a and b else "", *ratios)


def better(rows: pa.Table) -> Values:
    """Return each metric of the control that is better in its mean, shape (questions, metrics)."""
    both = [values_of(rows, control) for control in CONTROLS]
    columns = [max(both, key=lambda one: float(one[:, place].mean()))[:, place] for place in range(len(METRICS))]
    return np.column_stack(columns)


def intervals(values: Values) -> list[str]:
    """Return the mean of each column with its interval. Percentage points."""
    return [f"{one.mean:+.1f} [{one.low:.1f}, {one.high:.1f}]" for one in estimates(values)]


def times(rows: pa.Table, mode: str) -> tuple[float, float]:
    """Return the mean milliseconds of the processor a question, and the median of the clock."""
    chosen = rows.filter(pc.equal(rows["mode"], mode))
    return float(chosen["processor"][0].as_py()), float(np.median(chosen["milliseconds"].to_numpy()))


def seconds(rows: pa.Table) -> str:
    built = rows["built"][0].as_py()
    return f"{built:.0f}" if built else ""


def heading(*names: str) -> None:
    print()
    print_row(*names)
    print("|" + "---|" * len(names))


def print_row(*entries: str) -> None:
    print(f"| {' | '.join(entries)} |")


if __name__ == "__main__":
    main()
