"""Whether a passage is found by words of one of its sentences: questions that a single passage answers, in any number.

    python -m benchmarks.known_items DATA… --embedder FILE --homes FOLDER

DATA, FILE and FOLDER are as in `benchmarks.multihop`. Of one sentence of a passage, chosen at random, half of the words
are the question; in a second set, three in ten (at least four), none of which is in the passage's first line. Prints
recall@2, recall@5 and MRR of `fusion`, `naive` and `bm25` in percent, and by how much `fusion` differs from the better
of the other two, with a paired 95% bootstrap interval. Such questions favour `bm25`: the passage has all their words.
"""

import argparse
import os
import random
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.multihop import METRICS, means, measured, prepared, shown
from lightrag_dagster import KnowledgeBase
from lightrag_dagster.core.text.terms import text_terms
from lightrag_dagster.evaluation.questions import FiledQuestion
from lightrag_dagster.indexes.text_index import title_of
from lightrag_dagster.settings import Settings
from tests.loopback import serving

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_LEAST = 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--embedder", type=Path, action="append", default=[], help="ONNX file of a local model")
    parser.add_argument("--homes", type=Path, help="keep the homes here")
    parser.add_argument("--count", type=int, default=150, help="questions of each set")
    given = parser.parse_args()
    console = Console(highlight=False, width=160)
    with tempfile.TemporaryDirectory() as scratch, serving() as server:
        os.environ |= {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "none"}
        for data in given.data:
            for embedder in (None, *given.embedder):
                folder = (given.homes or Path(scratch)) / f"{data.name}-{embedder.parts[-3] if embedder else 'offline'}"
                settings = prepared(data, embedder, folder, server)
                for label, share, titled in (("half of a sentence", 0.5, True), ("without the title", 0.3, False)):
                    questions = known_items(settings, given.count, share, titled=titled)
                    compare(console, f"{folder.name}, {label}", settings, questions)


def known_items(settings: Settings, count: int, share: float, *, titled: bool) -> list[FiledQuestion]:
    """Return questions made of a share of the words of sentences; the same ones each time."""
    chance = random.Random(1)
    with KnowledgeBase.open(settings=settings) as knowledge:
        rows = knowledge.snapshot.graph.chunks.rows.select(["chunk_id", "content"]).to_pylist()
    chance.shuffle(rows)
    made: dict[str, FiledQuestion] = {}
    for row in rows:
        title = set() if titled else set(text_terms(title_of(row["content"])))
        sentences = [words for words in _sentences(row["content"], title) if len(words) >= 2 * _LEAST]
        if sentences and len(made) < count:
            words = chance.choice(sentences)
            kept = sorted(chance.sample(range(len(words)), max(_LEAST, round(share * len(words)))))
            asked = " ".join(words[place] for place in kept)
            made.setdefault(asked, FiledQuestion(question=asked, chunks=[row["chunk_id"]]))
    return list(made.values())


def _sentences(text: str, without: set[str]) -> Iterator[list[str]]:
    """Yield the words of each sentence that count in a ranking and are not to be left out."""
    for sentence in _SENTENCE.split(text):
        words = [word for word in re.findall(r"\w[\w'’-]*", sentence) if text_terms(word)]
        yield [word for word in words if without.isdisjoint(text_terms(word))]


def compare(console: Console, name: str, settings: Settings, questions: Sequence[FiledQuestion]) -> None:
    found = measured(settings, questions, ["fusion", "naive", "bm25"])
    console.print(f"\n{name}, {len(questions)} questions")
    for mode, values in found.items():
        console.print(f"{mode:40} {means(values)}")
    for place, metric in enumerate(METRICS):
        better = max((found["naive"], found["bm25"]), key=lambda values: values[:, place].mean())
        console.print(f"fusion over the better, {metric:16} {shown((found['fusion'] - better)[:, place])}")


if __name__ == "__main__":
    main()
