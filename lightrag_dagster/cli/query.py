"""`query`: ask the published knowledge base."""

import json
from enum import Enum
from pathlib import Path
from typing import Any

from rich.console import Console

from lightrag_dagster.query.context import context_of
from lightrag_dagster.query.question import QueryOptions
from lightrag_dagster.query.types import Step


class Output(Enum):
    """What is printed."""

    text = "the answer"
    json = "answer and retrieval as JSON"
    context = "the context"
    prompt = "the prompt"
    stream = "the answer in pieces"


def output_of(*, only_prompt: bool, only_context: bool, as_json: bool, stream: bool) -> Output:
    """Return what to print; where several are asked for, what comes first here wins."""
    asked = {
        Output.prompt: only_prompt,
        Output.context: only_context,
        Output.json: as_json,
        Output.stream: stream,
        Output.text: True,
    }
    return next(output for output, wanted in asked.items() if wanted)


def ask(
    console: Console,
    question: str,
    options: QueryOptions,
    output: Output,
    picture: Path | None = None,
    snapshot: str | None = None,
) -> None:
    """Ask and print; with the option `explain`, answer or context are followed by the steps.

    Args:
        console: Where it is printed.
        question: What is asked.
        options: How.
        output: What is printed; a picture goes with the answer and with the context.
        picture: The SVG file to write what was used to.
        snapshot: Id or name of a snapshot; the published one unless given.

    Raises:
        NoSnapshotError: nothing is published yet.
        QueryError: the question is empty, or there is no such mode or source.
        StoreError: there is no such snapshot.
    """
    from lightrag_dagster.query.knowledge_base import KnowledgeBase

    with KnowledgeBase.open(snapshot_id=snapshot) as knowledge:
        if output is Output.prompt:
            console.print(knowledge.prompt(question, **options))
        elif output is Output.stream:
            for piece in knowledge.stream(question, **options):
                console.print(piece, end="")
            console.print()
        elif output is Output.json:
            console.print_json(json.dumps(knowledge.query(question, **options).to_dict()))
        else:
            if output is Output.context:
                retrieval = knowledge.retrieve(question, **options)
                text = context_of(retrieval)
            else:
                answer = knowledge.query(question, **options)
                retrieval, text = answer.retrieval, answer.text
            console.print(text)
            if picture is not None:
                from lightrag_dagster.query.picture import draw

                picture.write_text(draw(retrieval, knowledge.snapshot.graph), encoding="utf-8")
            if options.get("explain"):
                console.print(explanation(retrieval.steps))


def explanation(steps: tuple[Step, ...]) -> str:
    """Return the steps as lines: name, milliseconds and what it did, then its items; a dash marks those cut.

    A passage is followed by the ways that led to it from elsewhere.
    """
    lines = []
    for step in steps:
        notes = {name: value for name, value in step.notes.items() if name != "items"}
        said = ", ".join(f"{name.replace('_', ' ')}: {_text(value)}" for name, value in notes.items())
        lines.append(f"{step.name:<15}{step.milliseconds:>8.1f} ms  {said}")
        for item in step.notes.get("items", []):
            score = "     " if item["score"] is None else f"{item['score']:.3f}"
            lines.append(f"  {'+' if item['kept'] else '-'} {score}  {item['name']}")
            lines += [f"{'':11}by {' → '.join(path[:-1])}" for path in item.get("paths", []) if path[:-1]]
    return "\n".join(["", *lines])


def _text(value: Any) -> str:
    return " · ".join(value) if isinstance(value, tuple) else str(value)
