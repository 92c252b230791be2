"""Which mode finds the passages that answer multi-hop questions.

    python -m benchmarks.musique DATA

DATA is a folder with `documents.jsonl` (id, title, text), `extractions.jsonl` (id, triples that a model found) and
`questions.jsonl` (question, supporting ids). The passages go through the real pipeline: a server on 127.0.0.1 answers
for the language model with the given triples, so that no model is needed; the embedder is the offline one. Prints
recall@5 of every mode with a 95% bootstrap interval, the difference of `ppr` to each other mode with its paired
interval, and what `ppr` loses when an ingredient is left out. Keywords of the other modes are found by the offline
rules.
"""

import argparse
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console

from benchmarks.pipeline import Meter
from lightrag_dagster import KnowledgeBase
from lightrag_dagster.blocking import wait_for
from lightrag_dagster.cli.pipeline import bring_up_to_date
from lightrag_dagster.llm.fencing import last_fenced
from lightrag_dagster.llm.offline import OfflineChatModel
from lightrag_dagster.llm.protocol import ChatRequest, Message
from lightrag_dagster.settings import Settings, load_settings
from tests.loopback import serving

MODES = ("naive", "local", "global", "hybrid", "mix", "ppr")
ABLATIONS: Mapping[str, dict[str, Any]] = {
    "as it is": {},
    "no facts": {"facts": 0},
    "twice the facts": {"facts": 10},
    "no chunks": {"chunk_share": 0.0},
    "chunks alone": {"chunk_share": 1.0},
    "no specificity": {"specificity": False},
    "longer walks": {"damping": 0.7},
}
K = 5
SAMPLES = 10_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    data = parser.parse_args().data
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
                return wait_for(OfflineChatModel().complete(ChatRequest("summarise", messages))).text
            return answers[_key(last_fenced(asked) or "")]

        server.chat = chat
        folder = Path(scratch)
        (folder / "sources" / "musique").mkdir(parents=True)
        for document in documents:
            text = f"{document['title']}\n{document['text']}"
            (folder / "sources" / "musique" / f"{document['id']}.txt").write_text(text)
        settings = load_settings(
            home=folder / "home",
            sources=folder / "sources",
            llm={"provider": "openai", "model": "recorded"},
            extraction={"gleaning": 0},
        )
        bring_up_to_date(settings, [], Meter())
        asking = settings.model_copy(update={"llm": load_settings().llm})
        console = Console()
        found = {mode: _recall(asking, questions, mode, {}) for mode in MODES}
        for mode, values in found.items():
            console.print(f"{mode:8} recall@{K} {_shown(values)}", highlight=False)
        for mode in MODES[:-1]:
            difference = found["ppr"] - found[mode]
            console.print(f"ppr over {mode:8} {_shown(difference)}", highlight=False)
        for name, options in ABLATIONS.items():
            values = _recall(asking, questions, "ppr", options)
            console.print(f"ppr, {name:24} {_shown(values)}", highlight=False)


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
    settings: Settings, questions: Sequence[dict[str, Any]], mode: str, options: dict[str, Any]
) -> npt.NDArray[np.float64]:
    """Return the share of its supporting passages that each question's first chunks hold."""
    ppr = settings.query.ppr.model_copy(update=options)
    query = settings.query.model_copy(update={"ppr": ppr})
    values = []
    with KnowledgeBase.open(settings=settings.model_copy(update={"query": query})) as knowledge:
        for question in questions:
            chunks = knowledge.retrieve(question["question"], mode=mode).chunks[:K]
            ids = {Path(chunk.path).stem for chunk in chunks}
            values.append(len(ids & set(question["supporting"])) / len(question["supporting"]))
    return np.array(values)


def _shown(values: npt.NDArray[np.float64]) -> str:
    """Return the mean of all questions with its interval, and of the even and the odd ones. Percent."""
    chance = np.random.default_rng(0)
    means = chance.choice(values, size=(SAMPLES, len(values))).mean(axis=1)
    low, high = np.percentile(100 * means, [2.5, 97.5])
    even, odd = (100 * values[start::2].mean() for start in (0, 1))
    return f"{100 * values.mean():5.1f} [{low:.1f}, {high:.1f}]; even {even:.1f}, odd {odd:.1f}"


if __name__ == "__main__":
    main()
