"""What the steps of a question that ask a model add, on questions whose passages are known.

    python -m benchmarks.model_steps DATA… --oracle [--embedder FILE] [--homes FOLDER]
    python -m benchmarks.model_steps DATA… [--embedder FILE] [--homes FOLDER]

DATA and FOLDER are as in `benchmarks.multihop`. With `--oracle` a server on 127.0.0.1 stands in for the models and
answers as one that knows the supporting passages would, which bounds the gain from above:

- filter_relations keeps the relations that were found in a supporting passage;
- hops append the title of a supporting passage to the question: of the first alone, or of one after the other;
- the reranker puts supporting passages before all others.

Without, the configured language model is asked (`llm.provider`, with its limits of cost), and the reranker if there is
one: that is the real gain. Prints recall@2, recall@5 and MRR in percent; the difference of recall@5 to the same mode
without the step, with a paired 95% bootstrap interval; and calls and tokens a question.
"""

import argparse
import json
import os
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args
from unittest.mock import patch

import numpy as np
from rich.console import Console
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from benchmarks.multihop import letters, means, prepared, rows_of, shown
from lightrag_dagster import KnowledgeBase, Retrieval
from lightrag_dagster.core.text.tokens import load_tokenizer
from lightrag_dagster.evaluation.bootstrap import Values
from lightrag_dagster.query.mode import ModeName
from lightrag_dagster.settings import Settings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.stages.prompts.fencing import last_fenced
from tests.loopback import Answer, Loopback, serving

MODES = ("fusion", "ppr", "naive")
RELEVANT, HOPS = {"filter_relations": True}, {"hops": 4}
_QUESTION = re.compile(r"Question:\n\n(`{3,})text\n(.*?)\n\1", re.DOTALL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--oracle", action="store_true", help="answer by the supporting passages")
    parser.add_argument("--embedder", type=Path, help="ONNX file of a local model; else the offline one")
    parser.add_argument("--homes", type=Path, help="keep the homes here")
    given = parser.parse_args()
    console = Console(highlight=False, width=160)
    with tempfile.TemporaryDirectory() as scratch, serving() as server:
        here = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "none"}
        for data in given.data:
            name = f"{data.name}-{given.embedder.parts[-3] if given.embedder else 'offline'}"
            with patch.dict(os.environ, here):
                settings = prepared(data, given.embedder, (given.homes or Path(scratch)) / name, server)
            questions = rows_of(data / "questions.jsonl")
            console.print(f"\n{name}, {len(questions)} questions")
            if given.oracle:
                with patch.dict(os.environ, here):
                    compare(console, data.name, questions, oracle_steps(data, settings, questions, server))
            elif settings.llm.provider == "offline":
                parser.error("no language model is configured: set llm.provider, or give --oracle")
            else:
                compare(console, data.name, questions, model_steps(settings))


def model_steps(settings: Settings) -> dict[str, Settings]:
    """Return settings with each of the steps, by its name, that the configured models can take."""
    without = settings.changed(rerank={"provider": "none"})
    steps = {
        "none": without,
        "filter_relations": without.changed(query=RELEVANT),
        "hops": without.changed(query=HOPS),
        "both": without.changed(query=RELEVANT | HOPS),
    }
    if settings.rerank.provider != "none":
        steps["rerank"] = settings
    return steps


def oracle_steps(
    data: Path, settings: Settings, questions: Sequence[Mapping[str, Any]], server: Loopback
) -> dict[str, Settings]:
    """Return settings with each of the steps, by its name, and make the server answer for their models."""
    oracle = Oracle(data, settings, questions)
    server.chat = oracle.chat
    others = [route for route in server.application.router.routes if getattr(route, "path", "") != "/v1/rerank"]
    server.application.router.routes[:] = [*others, Route("/v1/rerank", _reranking(oracle), methods=["POST"])]
    one, all_hops = (
        {"provider": "openai", "model": model, "max_retries": 0} for model in ("oracle-first", "oracle-all")
    )
    rerank = {"provider": "http", "base_url": f"{server.url}/rerank"}
    return {
        "none": settings,
        "filter_relations": settings.changed(llm=one, query=RELEVANT),
        "hops, first title": settings.changed(llm=one, query=HOPS),
        "hops, each title": settings.changed(llm=all_hops, query=HOPS),
        "rerank": settings.changed(rerank=rerank),
        "filter_relations, hops (first)": settings.changed(llm=one, query=RELEVANT | HOPS),
        "these and rerank": settings.changed(llm=one, query=RELEVANT | HOPS, rerank=rerank),
    }


class Oracle:
    """Answers for the models of the steps, by the supporting passages."""

    def __init__(self, data: Path, settings: Settings, questions: Sequence[Mapping[str, Any]]) -> None:
        passages = {one["id"]: one for one in rows_of(data / "documents.jsonl")}
        self._supporting = {one["question"]: one["supporting"] for one in questions}
        self._titles = {name: one["title"] for name, one in passages.items()}
        self._letters = {name: letters(f"{one['title']}\n{one['text']}") for name, one in passages.items()}
        self._found_in = passages_of_relations(settings)
        self._count = load_tokenizer(settings.chunking.encoding).count

    def chat(self, body: dict[str, Any]) -> Answer:
        """Answer a call of either step, with the tokens that it would have taken."""
        asked = body["messages"][-1]["content"]
        text = self._relevant(asked) if "\n\nRelations:\n\n" in asked else self._next(asked, body["model"])
        took = sum(self._count(message["content"]) for message in body["messages"])
        usage = {"prompt_tokens": took, "completion_tokens": self._count(text), "total_tokens": 0}
        return Answer(text, usage=usage)

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return 1 for each text that is, or ends with, a supporting passage, else 0."""
        wanted = tuple(self._letters[name] for name in self._gold(query))
        return [float(letters(text).endswith(wanted)) for text in texts]

    def _relevant(self, asked: str) -> str:
        gold = set(self._gold(_question(asked)))
        relations = [
            json.loads(line) for line in (last_fenced(asked.partition("Relations:\n\n")[2]) or "").splitlines()
        ]
        kept = [one["number"] for one in relations if gold & self._found_in[one["entity1"], one["entity2"]]]
        return json.dumps({"relations": kept})

    def _next(self, asked: str, model: str) -> str:
        question = _question(asked)
        titles = [self._titles[name] for name in self._gold(question)]
        earlier = asked.partition("Looked up so far:\n\n")[2].partition("Passages:")[0].strip().splitlines()[1:-1]
        left = titles[len(earlier) : 1 if model == "oracle-first" else None]
        return json.dumps({"next": f"{question} {left[0]}"} if left else {"done": True})

    def _gold(self, asked: str) -> list[str]:
        """Return the supporting passages of a question, or of one with a title after it."""
        known: list[str] = next(names for one, names in self._supporting.items() if asked.startswith(one))
        return known


def passages_of_relations(settings: Settings) -> dict[tuple[str, str], set[str]]:
    """Return the passages in which each relation was found, by the names of its ends."""
    with KnowledgeBase.open(settings=settings) as knowledge:
        graph = knowledge.snapshot.graph
        rows = dict.fromkeys(range(len(graph.relations.ids)))
        return {
            (one.src, one.tgt): {
                Path(place["path"]).stem
                for chunk in graph.relation_chunks.of(row).tolist()
                for place in graph.citations_of(chunk)
            }
            for row, one in zip(rows, knowledge.snapshot.relations(rows), strict=True)
        }


def compare(console: Console, source: str, questions: Sequence[Mapping[str, Any]], steps: dict[str, Settings]) -> None:
    """Print what is found with each of the steps, in each mode."""
    console.print(f"{'':48}recall@2  recall@5  MRR       recall@5 gained        calls  tokens in, out a question")
    for mode in get_args(ModeName):
        without: Values | None = None
        for label, settings in steps.items():
            if mode == "naive" and "filter_relations" in label:
                continue
            found = retrieved(settings, mode, [one["question"] for one in questions])
            values = np.array([metrics(*pair, source) for pair in zip(found, questions, strict=True)])
            without = values if without is None else without
            spent = np.array([spending(one) for one in found]).mean(axis=0)
            gained = shown((values - without)[:, 1])
            console.print(
                f"{mode:8}{label:40}{means(values)}     {gained:22} {spent[0]:5.1f} {spent[1]:7.0f} {spent[2]:4.0f}"
            )


def retrieved(settings: Settings, mode: ModeName, questions: Sequence[str]) -> list[Retrieval]:
    account = Account.of("model-steps", "", settings.llm) if settings.llm.provider != "offline" else None
    with KnowledgeBase.open(settings=settings, account=account) as knowledge:
        return knowledge.map(lambda question: knowledge.retrieve(question, mode=mode), questions)


def metrics(found: Retrieval, question: Mapping[str, Any], source: str) -> tuple[float, float, float]:
    """Return recall@2, recall@5 and MRR of one question."""
    gold = {(source, f"{name}.txt") for name in question["supporting"]}
    ranked = [gold & {(place.source, place.path) for place in chunk.citations} for chunk in found.chunks]
    first = next((rank for rank, hits in enumerate(ranked, start=1) if hits), None)
    at_2, at_5 = (len(set().union(*ranked[:k])) / len(gold) for k in (2, 5))
    return at_2, at_5, 1 / first if first else 0.0


def spending(found: Retrieval) -> tuple[int, int, int]:
    """Return calls, input tokens and output tokens of one question."""
    notes = [(name, value) for step in found.steps for name, value in step.notes.items()]
    taken, given = (_ending(notes, what) for what in ("input tokens", "output tokens"))
    return len(taken), sum(taken), sum(given)


def _ending(notes: Iterable[tuple[str, Any]], what: str) -> list[int]:
    return [value for name, value in notes if name.endswith(what)]


def _question(asked: str) -> str:
    found = _QUESTION.search(asked)
    return found[2] if found else ""


def _reranking(oracle: Oracle) -> Any:
    async def rerank(request: Request) -> JSONResponse:
        body = await request.json()
        scores = oracle.rerank(body["query"], body["documents"])
        best = sorted(range(len(scores)), key=lambda place: (-scores[place], place))[: body["top_n"]]
        return JSONResponse({"results": [{"index": place, "relevance_score": scores[place]} for place in best]})

    return rerank


if __name__ == "__main__":
    main()
