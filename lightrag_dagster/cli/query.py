"""`query`: ask the published knowledge base."""

from enum import Enum
from typing import Any

from rich.console import Console

from lightrag_dagster.cli import terminal
from lightrag_dagster.errors import QueryError
from lightrag_dagster.query.answer_text import HEADING
from lightrag_dagster.query.knowledge_base import KnowledgeBase, Prepared
from lightrag_dagster.query.question import QueryOptions
from lightrag_dagster.query.steps.context import context_of, prompt_of
from lightrag_dagster.query.types import Answer, Retrieval, Step
from lightrag_dagster.stages.prompts import NO_CONTEXT


class Output(Enum):
    """The part of a result that is printed."""

    text = "the answer"
    json = "answer and retrieval as JSON"
    context = "the context"
    prompt = "the prompt"
    stream = "the answer in pieces"


def output_of(*, only_prompt: bool, only_context: bool, as_json: bool, stream: bool) -> Output:
    """Return the output that was chosen; raises QueryError if more than one was."""
    options = {
        "--only-prompt": (only_prompt, Output.prompt),
        "--only-context": (only_context, Output.context),
        "--json": (as_json, Output.json),
        "--stream": (stream, Output.stream),
    }
    asked = {option: output for option, (wanted, output) in options.items() if wanted}
    if len(asked) > 1:
        raise QueryError(f"{' and '.join(asked)} exclude each other; give one")
    return next(iter(asked.values()), Output.text)


def ask(console: Console, question: str, options: QueryOptions, output: Output, snapshot: str | None = None) -> None:
    """Ask and print; with the option `explain`, the steps follow, except in JSON, which has them.

    Notes on options without effect go to standard error.

    Args:
        console: The console to print on.
        question: The question.
        options: Its options.
        output: The part of the result to print.
        snapshot: Id or name of a snapshot; the published one unless given.

    Raises:
        NoSnapshotError: nothing is published yet.
        QueryError: the question cannot be asked as given.
        StoreError: there is no such snapshot.
    """
    with KnowledgeBase.open(snapshot_id=snapshot) as knowledge:
        retrieval = _answer(console, knowledge, knowledge.prepare(question, **options), output)
        if options.get("explain") and output is not Output.json:
            console.print(explanation(retrieval.steps))
    for note in retrieval.notes:
        terminal.console(stderr=True).print(f"note: {note}")


def _answer(console: Console, knowledge: KnowledgeBase, prepared: Prepared, output: Output) -> Retrieval:
    """Print the part of the result that is asked for, and return the retrieval, after an answer with its costs."""
    if output is Output.prompt:
        console.print(prompt_of(prepared.request) if prepared.request else NO_CONTEXT)
    elif output is Output.context:
        console.print(context_of(prepared.retrieval))
    elif output is Output.stream:
        for piece in knowledge.pieces(prepared):
            console.print(piece, end="")
        console.print()
    else:
        answer = knowledge.answer(prepared)
        terminal.print_json(answer.to_dict()) if output is Output.json else _print_text(console, answer)
        return answer.retrieval
    return prepared.retrieval


def _print_text(console: Console, answer: Answer) -> None:
    """Print an answer, and the documents that it cites, if the model lists none."""
    console.print(answer.text)
    if answer.cited and not HEADING.search(answer.text):
        console.print("\nReferences:\n" + "\n".join(f"[{one.reference_id}] {one.file}" for one in answer.cited))


def explanation(steps: tuple[Step, ...]) -> str:
    """Return the steps as lines: name, milliseconds and facts, then the items; a dash marks those cut.

    A passage is followed by the paths that led to it.
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
