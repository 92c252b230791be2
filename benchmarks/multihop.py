"""Which mode finds the passages that answer multi-hop questions.

    python -m benchmarks.multihop DATA… --embedder FILE --homes FOLDER

Each DATA is a folder with `documents.jsonl` (id, title, text) and `questions.jsonl` (question, supporting ids). With
`extractions.jsonl` (id, triples that a model found) a server on 127.0.0.1 answers for the language model with the given
triples; without, the offline extractor reads the passages. The passages go through the real pipeline, once with the
offline embedder and once with each ONNX file that is given (`embedding.provider: local`). Homes are kept in FOLDER, if
one is given, and used again.

Prints recall@2, recall@5 and MRR of every mode in percent; the differences of `fusion` to `naive` and `bm25`, and of
recall@5 to `naive` over all homes together, with paired 95% bootstrap intervals; and what `fusion` finds when an
ingredient is left out. Keywords of the other modes are found by the offline rules.
"""

import argparse
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from rich.console import Console

from benchmarks.pipeline import Meter
from lightrag_dagster import KnowledgeBase
from lightrag_dagster.core.aio import run_sync
from lightrag_dagster.core.protocols import ChatRequest, Message
from lightrag_dagster.evaluation.bootstrap import Values, estimates
from lightrag_dagster.evaluation.evaluation import evaluate
from lightrag_dagster.evaluation.questions import FiledQuestion
from lightrag_dagster.models.rules import OfflineChatModel
from lightrag_dagster.orchestration.runner import bring_up_to_date
from lightrag_dagster.query import linking, transitions
from lightrag_dagster.query.mode import MODES
from lightrag_dagster.query.modes import fusion
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.stages.prompts.fencing import last_fenced
from tests.loopback import Loopback, serving

LEFT_OUT: Mapping[str, dict[str, Any]] = {
    "whole": {},
    "no names": {"names": 0.0},
    "no relations": {"relations": 0.0},
    "no chunks": {"chunks": 0.0},
    "no lexical ranking": {"lexical": 0.0},
    "no dense ranking": {"dense": 0.0},
    "no walk": {"steps": 0},
    "walk alone": {"direct": 0.0},
    "words as beside a model": {"beside_words": 1.0},
    "steps 4": {"steps": 4},
    "damping 0.5": {"damping": 0.5},
    "steps 16": {"steps": 16},
}
METRICS = ("recall_at_2", "recall", "mrr")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--embedder", type=Path, action="append", default=[], help="ONNX file of a local model")
    parser.add_argument("--homes", type=Path, help="keep the homes here")
    given = parser.parse_args()
    console = Console(highlight=False, width=160)
    with tempfile.TemporaryDirectory() as scratch, serving() as server:
        os.environ |= {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "none"}
        gains = []
        for data in given.data:
            for embedder in (None, *given.embedder):
                folder = (given.homes or Path(scratch)) / f"{data.name}-{embedder.parts[-3] if embedder else 'offline'}"
                settings = prepared(data, embedder, folder, server)
                gains.append(compared(console, folder.name, settings, gold_of(data)))
        if len(gains) > 1:
            console.print(f"\nfusion over naive, recall@5, all {sum(map(len, gains))} questions of these homes")
            console.print(shown(np.concatenate(gains)))


def gold_of(data: Path) -> list[FiledQuestion]:
    """Return the questions with the documents that should be found."""
    return [
        FiledQuestion(question=one["question"], documents=[f"{data.name}/{name}.txt" for name in one["supporting"]])
        for one in rows_of(data / "questions.jsonl")
    ]


def rows_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def prepared(data: Path, embedder: Path | None, folder: Path, server: Loopback) -> Settings:
    """Build the knowledge base of one set in a folder, and return the settings with which it is asked."""
    documents, recorded = rows_of(data / "documents.jsonl"), data / "extractions.jsonl"
    asking = load_settings(home=folder / "home", sources=folder / "sources", embedding=embedding_of(embedder))
    settings = asking
    if recorded.exists():
        server.chat = answering(documents, rows_of(recorded))
        settings = asking.changed(llm={"provider": "openai", "model": "recorded"}, extraction={"gleaning": 0})
    source = folder / "sources" / data.name
    source.mkdir(parents=True, exist_ok=True)
    for document in documents:
        file, text = source / f"{document['id']}.txt", f"{document['title']}\n{document['text']}"
        if not file.exists() or file.read_text() != text:
            file.write_text(text)
    bring_up_to_date(settings, [], Meter())
    return asking


def embedding_of(embedder: Path | None) -> dict[str, Any]:
    """Return the settings of a local model, or those of the offline embedder."""
    if embedder is None:
        return {}
    dimensions = json.loads((embedder.parents[1] / "config.json").read_text())["hidden_size"]
    return {"provider": "local", "model": str(embedder), "dimensions": dimensions}


def answering(documents: Sequence[dict[str, Any]], extractions: Sequence[dict[str, Any]]) -> Any:
    """Return what answers for the language model: recorded extractions, and summaries by the offline rules."""
    answers = {
        letters(f"{document['title']}\n{document['text']}"): records(extraction["triples"])
        for document, extraction in zip(documents, extractions, strict=True)
    }

    def chat(body: dict[str, Any]) -> str:
        asked = body["messages"][-1]["content"]
        if "Description" in asked:
            messages = tuple(Message(message["role"], message["content"]) for message in body["messages"])
            return run_sync(OfflineChatModel().complete(ChatRequest("summarise", messages))).text
        return answers[letters(last_fenced(asked) or "")]

    return chat


def letters(passage: str) -> str:
    """Return the letters and digits of a passage, which reading and cutting it leave as they are."""
    return "".join(filter(str.isalnum, passage))


def records(triples: Sequence[Sequence[str]]) -> str:
    """Return triples in the format in which a model is asked to answer."""
    lines: dict[str, None] = {}
    whole = [triple for triple in triples if len(triple) == 3]
    for source, _, target in whole:
        for name in (source, target):
            lines[f"entity<|#|>{name}<|#|>other<|#|>{name}"] = None
    for source, what, target in whole:
        lines[f"relation<|#|>{source}<|#|>{target}<|#|>{what}<|#|>{source} {what} {target}"] = None
    return "\n".join([*lines, "<|COMPLETE|>"])


def compared(console: Console, name: str, settings: Settings, questions: Sequence[FiledQuestion]) -> Values:
    """Print how well every mode finds; return by how much the recall@5 of `fusion` is above that of `naive`."""
    console.print(f"\n{name}, {len(questions)} questions{'':18}recall@2  recall@5  MRR")
    found = measured(settings, questions, [name for name, mode in MODES.items() if mode.retrieves])
    for mode, values in found.items():
        console.print(f"{mode:40} {means(values)}")
    for control in ("naive", "bm25"):
        for place, metric in enumerate(METRICS):
            console.print(f"fusion over {control}, {metric:22} {shown((found['fusion'] - found[control])[:, place])}")
    for label, options in LEFT_OUT.items():
        console.print(f"fusion, {label:32} {means(ablated(settings, questions, options))}")
    with patch.object(transitions, "TITLE_STEPS", 0):
        console.print(f"{'fusion, no titles':40} {means(ablated(settings, questions, {}))}")
    with patch.object(transitions, "past_lone_entities", lambda links, _: links):
        console.print(f"{'fusion, to entities of one chunk':40} {means(ablated(settings, questions, {}))}")
    begin = fusion.start_mass
    with patch.object(fusion, "start_mass", lambda seeds, covered, _, how: begin(seeds, covered, 0.0, how)):
        console.print(f"{'fusion, relations whatever words are held':40} {means(ablated(settings, questions, {}))}")
    with patch.object(linking, "probability", lambda *_: 1.0):
        console.print(f"{'fusion, every name meant':40} {means(ablated(settings, questions, {}))}")
    difference: Values = (found["fusion"] - found["naive"])[:, METRICS.index("recall")]
    return difference


def ablated(settings: Settings, questions: Sequence[FiledQuestion], options: dict[str, Any]) -> Values:
    with patch.object(fusion, "FUSION", replace(fusion.FUSION, **options)):
        return measured(settings, questions, ["fusion"])["fusion"]


def measured(settings: Settings, questions: Sequence[FiledQuestion], modes: Sequence[str]) -> dict[str, Values]:
    """Return for each mode recall@2, recall@5 and MRR of each question, shape (questions, 3)."""
    with KnowledgeBase.open(settings=settings) as knowledge:
        rows = evaluate(knowledge, questions, modes).to_pylist()
    by_question = {(row["mode"], row["question"]): [row[metric] for metric in METRICS] for row in rows}
    return {mode: np.array([by_question[mode, one.question] for one in questions]) for mode in modes}


def means(values: Values) -> str:
    return "     ".join(f"{mean:5.1f}" for mean in 100 * values.mean(axis=0))


def shown(values: Values) -> str:
    """Return the mean with its interval. Percentage points."""
    (one,) = estimates(100 * values[:, None])
    return f"{one.mean:5.1f} [{one.low:.1f}, {one.high:.1f}]"


if __name__ == "__main__":
    main()
