"""Which mode finds the passages that answer multi-hop questions.

    python -m benchmarks.musique DATA
    python -m benchmarks.musique DATA --embedder FOLDER

DATA is a folder with `documents.jsonl` (id, title, text), `extractions.jsonl` (id, triples that a model found) and
`questions.jsonl` (question, supporting ids). The passages go through the real pipeline: a server on 127.0.0.1 answers
for the language model with the given triples, so that no model is needed; the embedder is the offline one, or the
sentence-transformers model in FOLDER (extra `rerank` brings that library), served by the same server. Prints recall@5
of every mode and of BM25 with a 95% bootstrap interval, the difference of `ppr` to each other one with its paired
interval, and what `ppr` loses when an ingredient is left out. Keywords of the other modes are found by the offline
rules.
"""

import argparse
import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
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
from lightrag_dagster.evaluation.questions import Question
from lightrag_dagster.evaluation.retrieving import BM25
from lightrag_dagster.evaluation.summary import K
from lightrag_dagster.models.offline import OfflineChatModel
from lightrag_dagster.query import ppr
from lightrag_dagster.query.modes import MODES
from lightrag_dagster.runner import bring_up_to_date
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.stages.prompts.fencing import last_fenced
from tests.loopback import serving

ABLATIONS: Mapping[str, dict[str, Any]] = {
    "as it is": {},
    "no facts": {"facts": 0},
    "twice the facts": {"facts": 10},
    "no chunks": {"chunk_share": 0.0},
    "chunks alone": {"chunk_share": 1.0},
    "no specificity": {"specificity": False},
    "longer walks": {"damping": 0.7},
}
SOURCE = "musique"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--embedder", type=Path, help="folder of a sentence-transformers model")
    given = parser.parse_args()
    data = given.data
    documents, extractions, questions = (
        [json.loads(line) for line in (data / f"{name}.jsonl").read_text().splitlines()]
        for name in ("documents", "extractions", "questions")
    )
    with tempfile.TemporaryDirectory() as scratch, serving() as server:
        os.environ |= {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "none"}
        answers = {
            _key(f"{document['title']}\n{document['text']}"): _rows(extraction["triples"])
            for document, extraction in zip(documents, extractions, strict=True)
        }

        def chat(body: dict[str, Any]) -> str:
            asked = body["messages"][-1]["content"]
            if "Description" in asked:
                messages = tuple(Message(message["role"], message["content"]) for message in body["messages"])
                return run_sync(OfflineChatModel().complete(ChatRequest("summarise", messages))).text
            return answers[_key(last_fenced(asked) or "")]

        server.chat = chat
        embedding: dict[str, Any] = {}
        if given.embedder:
            server.embed, dimensions = sentence_embedder(given.embedder)
            embedding = {"provider": "openai", "model": given.embedder.name, "dimensions": dimensions}
        folder = Path(scratch)
        (folder / "sources" / SOURCE).mkdir(parents=True)
        for document in documents:
            text = f"{document['title']}\n{document['text']}"
            (folder / "sources" / SOURCE / f"{document['id']}.txt").write_text(text)
        settings = load_settings(
            home=folder / "home",
            sources=folder / "sources",
            llm={"provider": "openai", "model": "recorded"},
            embedding=embedding,
            extraction={"gleaning": 0},
        )
        bring_up_to_date(settings, [], Meter())
        asking = settings.changed(llm=load_settings().llm)
        gold = [
            Question(question=one["question"], documents=[f"{SOURCE}/{name}.txt" for name in one["supporting"]])
            for one in questions
        ]
        console = Console(highlight=False)
        found = _recall(asking, gold, [BM25, *(name for name, mode in MODES.items() if mode.retrieves)])
        for mode, values in found.items():
            console.print(f"{mode:8} recall@{K} {_shown(values)}")
        for mode in [mode for mode in found if mode != "ppr"]:
            console.print(f"ppr over {mode:8} {_shown(found['ppr'] - found[mode])}")
        for name, options in ABLATIONS.items():
            console.print(f"ppr, {name:24} {_shown(_recall(asking, gold, ('ppr',), ppr.Walk(**options))['ppr'])}")


def sentence_embedder(folder: Path) -> tuple[Callable[[str, int], list[float]], int]:
    """Return what gives a text's vector, and the length of the vectors."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder), device="cpu")

    def embed(text: str, _: int) -> list[float]:
        vector: list[float] = model.encode(text, normalize_embeddings=True, show_progress_bar=False).tolist()
        return vector

    return embed, len(embed("", 0))


def _key(passage: str) -> str:
    """Return the letters and digits of a passage, which reading and cutting it leave as they are."""
    return "".join(filter(str.isalnum, passage))


def _rows(triples: Sequence[Sequence[str]]) -> str:
    """Return triples in the format in which a model is asked to answer."""
    lines: dict[str, None] = {}
    whole = [triple for triple in triples if len(triple) == 3]
    for source, _, target in whole:
        for name in (source, target):
            lines[f"entity<|#|>{name}<|#|>other<|#|>{name}"] = None
    for source, what, target in whole:
        lines[f"relation<|#|>{source}<|#|>{target}<|#|>{what}<|#|>{source} {what} {target}"] = None
    return "\n".join([*lines, "<|COMPLETE|>"])


def _recall(
    settings: Settings, questions: Sequence[Question], modes: Sequence[str], walk: ppr.Walk | None = None
) -> dict[str, Values]:
    """Return, for each mode, the share of its supporting passages that each question's first chunks hold."""
    chosen = settings.changed(evaluation={"modes": tuple(modes)})
    with patch.object(ppr, "WALK", walk or ppr.WALK), KnowledgeBase.open(settings=chosen) as knowledge:
        rows = evaluate(knowledge, questions).to_pylist()
    recall = {(row["mode"], row["question"]): row["recall"] for row in rows}
    return {mode: np.array([recall[mode, one.question] for one in questions]) for mode in modes}


def _shown(values: Values) -> str:
    """Return the mean of all questions with its interval, and of the even and the odd ones. Percent."""
    (one,) = estimates(100 * values[:, None])
    even, odd = (100 * values[start::2].mean() for start in (0, 1))
    return f"{one.mean:5.1f} [{one.low:.1f}, {one.high:.1f}]; even {even:.1f}, odd {odd:.1f}"


if __name__ == "__main__":
    main()
