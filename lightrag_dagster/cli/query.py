"""`query`: ask the published knowledge base."""

import json
from enum import Enum

from rich.console import Console

from lightrag_dagster import KnowledgeBase
from lightrag_dagster.settings import load_settings


class Output(Enum):
    """What is printed."""

    text = "the answer"
    json = "answer and retrieval as JSON"
    context = "the context"
    prompt = "the prompt"
    stream = "the answer in pieces"


def ask(console: Console, question: str, mode: str | None, output: Output) -> None:
    """Ask and print.

    Raises:
        NoSnapshotError: nothing is published yet.
        QueryError: the question is empty or the mode unknown.
    """
    with KnowledgeBase.open(load_settings().home) as knowledge_base:
        if output is Output.context:
            console.print(knowledge_base.context(question, mode=mode), markup=False)
        elif output is Output.prompt:
            console.print(knowledge_base.prompt(question, mode=mode), markup=False)
        elif output is Output.stream:
            for piece in knowledge_base.stream(question, mode=mode):
                console.print(piece, markup=False, end="")
            console.print()
        else:
            answer = knowledge_base.query(question, mode=mode)
            if output is Output.json:
                console.print_json(json.dumps(answer.to_dict()))
            else:
                console.print(answer.text, markup=False)
