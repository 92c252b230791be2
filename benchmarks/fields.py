"""Whether `fusion` is ever below plain search: sets from several fields, each cell beside the better of the others.

    python -m benchmarks.fields DATA… --embedder FILE --homes FOLDER

DATA, FILE and FOLDER are as in `benchmarks.multihop`; the sample sources of examples/ are asked as well. Prints
recall@1, recall@5, nDCG@10 and MRR of `fusion`, `naive` and `bm25` in percent, and by how much `fusion` differs from
the better of the two, with a paired 95% bootstrap interval; last, the means of these differences over all sets of each
embedder.
"""

import argparse
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console

from benchmarks.multihop import embedding_of, gold_of, prepared, shown
from benchmarks.pipeline import Meter
from lightrag_dagster import KnowledgeBase
from lightrag_dagster.evaluation.bootstrap import Values
from lightrag_dagster.evaluation.metrics import measure
from lightrag_dagster.evaluation.questions import FiledQuestion, read_question_file, with_gold
from lightrag_dagster.evaluation.retrieving import gold_of as gold_items
from lightrag_dagster.evaluation.retrieving import retrieve_all
from lightrag_dagster.orchestration.runner import bring_up_to_date
from lightrag_dagster.settings import Settings, load_settings
from tests.loopback import serving

EXAMPLES = Path(__file__).parents[1] / "examples"
MODES = ("fusion", "naive", "bm25")
CELLS = (("recall", 1), ("recall", 5), ("ndcg", 10), ("mrr", 10))
"""Metric and number of chunks; MRR counts all."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="*")
    parser.add_argument("--embedder", type=Path, action="append", default=[], help="ONNX file of a local model")
    parser.add_argument("--homes", type=Path, help="keep the homes here")
    given = parser.parse_args()
    console = Console(highlight=False, width=160)
    with tempfile.TemporaryDirectory() as scratch, serving() as server:
        os.environ |= {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "none"}
        for embedder in (None, *given.embedder):
            name = embedder.parts[-3] if embedder else "offline"
            homes = given.homes or Path(scratch)
            gains = []
            for data in given.data:
                settings = prepared(data, embedder, homes / f"{data.name}-{name}", server)
                gains.append(compared(console, f"{data.name}, {name}", settings, gold_of(data)))
            settings = samples(embedder, homes / f"samples-{name}")
            gains.append(
                compared(
                    console, f"samples, {name}", settings, with_gold(read_question_file(EXAMPLES / "questions.yaml"))
                )
            )
            means = np.mean(gains, axis=0)
            console.print(f"{f'mean of all sets, {name}':40} {'  '.join(f'{one:+6.1f}' for one in means)}\n")


def samples(embedder: Path | None, folder: Path) -> Settings:
    """Build the knowledge base of the sample sources in a folder, and return its settings."""
    shutil.copytree(EXAMPLES / "sources", folder / "sources", dirs_exist_ok=True)
    settings = load_settings(home=folder / "home", sources=folder / "sources", embedding=embedding_of(embedder))
    bring_up_to_date(settings, [], Meter())
    return settings


def compared(console: Console, name: str, settings: Settings, questions: Sequence[FiledQuestion]) -> Values:
    """Print every cell of one set; return the mean difference of each metric."""
    found = cells(settings, questions)
    console.print(f"\n{name}, {len(questions)} questions{'':14}recall@1  recall@5  nDCG@10  MRR")
    for mode, values in found.items():
        console.print(f"{mode:40} {'     '.join(f'{100 * one:5.1f}' for one in values.mean(axis=0))}")
    differences = []
    for place, (metric, k) in enumerate(CELLS):
        better = max((found["naive"], found["bm25"]), key=lambda values: values[:, place].mean())[:, place]
        difference = found["fusion"][:, place] - better
        console.print(f"fusion over the better, {f'{metric} {k}':16} {shown(difference)}")
        differences.append(100 * difference.mean())
    return np.array(differences)


def cells(settings: Settings, questions: Sequence[FiledQuestion]) -> dict[str, Values]:
    """Return for each mode the CELLS of each question, shape (questions, cells)."""
    with KnowledgeBase.open(settings=settings) as knowledge:
        retrieved = retrieve_all(knowledge, questions, MODES)
    gold = gold_items(questions)
    columns = []
    for metric, k in CELLS:
        rows = measure(retrieved.asked, retrieved.hits, gold, k).to_pylist()
        by_question = {(row["mode"], row["question"]): row[metric] for row in rows}
        columns.append({mode: [by_question[mode, one.question] for one in questions] for mode in MODES})
    return {mode: np.array([column[mode] for column in columns]).T for mode in MODES}


if __name__ == "__main__":
    main()
