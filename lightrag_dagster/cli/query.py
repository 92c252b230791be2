"""`query`: ask the published knowledge base."""

from collections.abc import Mapping
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


def output_of(flags: Mapping[str, bool]) -> str:
    """Return the flag of the output that was chosen, empty for the answer; raises QueryError if several were."""
    asked = [flag for flag, wanted in flags.items() if wanted]
    if len(asked) > 1:
        raise QueryError(f"{' and '.join(asked)} exclude each other; give one")
    return "".join(asked)


def ask(console: Console, question: str, options: QueryOptions, output: str, snapshot: str | None = None) -> None:
    """Ask and print; with the option `explain`, the steps follow, except in JSON, which has them.

    Notes on options without effect go to standard error.

    Args:
        console: The console to print on.
        question: The question.
        options: Its options.
        output: The flag of the part of the result to print, empty for the answer.
        snapshot: Id or name of a snapshot; the published one unless given.

    Raises:
        NoSnapshotError: nothing is published yet.
        QueryError: the question cannot be asked as given.
        QueryError: there is no such snapshot.
    """
    with KnowledgeBase.open(snapshot_id=snapshot) as knowledge:
        retrieval = _answer(console, knowledge, knowledge.prepare(question, **options), output)
        if options.get("explain") and output != "--json":
            console.print(explanation(retrieval.steps))
    for note in retrieval.notes:
        terminal.console(stderr=True).print(f"note: {note}")


def _answer(console: Console, knowledge: KnowledgeBase, prepared: Prepared, output: str) -> Retrieval:
    """Print the part of the result that is asked for, and return the retrieval, after an answer with its costs."""
    if output == "--only-prompt":
        console.print(prompt_of(prepared.request) if prepared.request else NO_CONTEXT)
    elif output == "--only-context":
        console.print(context_of(prepared.retrieval))
    elif output == "--stream":
        for piece in knowledge.pieces(prepared):
            console.print(piece, end="")
        console.print()
    else:
        answer = knowledge.answer(prepared)
        terminal.print_json(answer.to_dict()) if output == "--json" else _print_text(console, answer)
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
