"""The context that a model sees, its references, and the request to the model."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from lightrag_dagster.core.protocols import ChatRequest, Message
from lightrag_dagster.query.mode import MODES
from lightrag_dagster.query.question import Question
from lightrag_dagster.query.types import Chunk, Entity, Fact, Reference, Relation, Retrieval
from lightrag_dagster.stages.prompts import NO_CONTEXT, Prompts
from lightrag_dagster.stages.prompts.fencing import fence
from lightrag_dagster.stages.prompts.requests import answer_request

# Made once: `json.dumps` makes an encoder for each line, of which a question has hundreds.
_encode = json.JSONEncoder(ensure_ascii=False).encode


def entity_line(entity: Entity) -> str:
    """Return the line of an entity: entity, type, description."""
    return _json(entity=entity.name, type=entity.type, description=entity.description)


def relation_line(relation: Relation) -> str:
    """Return the line of a relation: entity1, entity2, description."""
    return _json(entity1=relation.src, entity2=relation.tgt, description=relation.description)


def fact_line(fact: Fact) -> str:
    """Return the line of a fact: reference_id, subject, relation, object or value, and when it held if that is said."""
    known = {"object": fact.object, "value": fact.value, "from": fact.since, "until": fact.until}
    known["when"] = None if fact.valid_from or fact.valid_to else fact.when_words
    said = {name: one for name, one in known.items() if one}
    return _json(reference_id=fact.reference_id, subject=fact.subject, relation=fact.relation, **said)


def chunk_line(chunk: Chunk) -> str:
    """Return the line of a chunk: reference_id, date and context if it has them, content."""
    known = {"date": chunk.date, "context": chunk.context}
    return _json(
        reference_id=chunk.reference_id, **{name: one for name, one in known.items() if one}, content=chunk.content
    )


def with_references(retrieval: Retrieval) -> Retrieval:
    """Assign numbers to the documents of the chunks: by chunks, most first, then by first appearance.

    A fact cites one of these documents if it can, else one that comes after them.
    """
    counted = Counter((chunk.source, chunk.path) for chunk in retrieval.chunks)
    numbered = {document: str(number) for number, (document, _) in enumerate(counted.most_common(), start=1)}
    facts = []
    for fact in retrieval.facts:
        places = [(one.source, one.path) for one in fact.citations]
        cited = next((place for place in places if place in numbered), places[0])
        facts.append(replace(fact, reference_id=numbered.setdefault(cited, str(len(numbered) + 1))))
    chunks = (replace(chunk, reference_id=numbered[chunk.source, chunk.path]) for chunk in retrieval.chunks)
    references = (Reference(number, *document) for document, number in numbered.items())
    return replace(retrieval, facts=tuple(facts), chunks=tuple(chunks), references=tuple(references))


def render(retrieval: Retrieval) -> str:
    """Return the context of a retrieval; empty parts are left out."""
    parts = {
        "Entities": _lines(map(entity_line, retrieval.entities)),
        "Relations": _lines(map(relation_line, retrieval.relations)),
        _facts(retrieval): _lines(map(fact_line, retrieval.facts)),
        _excerpts(retrieval): _lines(map(chunk_line, retrieval.chunks)),
        "Documents": "\n".join(f"[{reference.reference_id}] {reference.file}" for reference in retrieval.references),
    }
    return "\n\n".join(f"## {title}\n\n{part}" for title, part in parts.items() if part)


def frame(retrieval: Retrieval) -> str:
    """Return the context without its lines of JSON. No token is part of both, so their lengths add up."""
    return "\n".join(line for line in render(retrieval).split("\n") if not line.startswith("{"))


def _facts(retrieval: Retrieval) -> str:
    first = f"; those that held on {retrieval.as_of} come first" if retrieval.as_of else ""
    return f"Facts (`from` and `until` say when each held{first})"


def _excerpts(retrieval: Retrieval) -> str:
    dated = ", `date` when it was written" if any(chunk.date for chunk in retrieval.chunks) else ""
    return f"Excerpts (`reference_id` is the number of the document below{dated})"


def context_of(retrieval: Retrieval) -> str:
    """Return the context that a model would see, or NO_CONTEXT."""
    return NO_CONTEXT if retrieval.empty else render(retrieval)


def request_of(prompts: Prompts, question: Question, retrieval: Retrieval) -> ChatRequest | None:
    """Return the request for an answer; None without hits. In a mode without retrieval it has no context."""
    if not MODES[retrieval.mode].retrieves:
        return ChatRequest("answer", (*question.history, Message("user", question.text)))
    return None if retrieval.empty else request_in_context(prompts, question, render(retrieval))


def request_in_context(prompts: Prompts, question: Question, context: str) -> ChatRequest:
    """Return the request with the question, its instructions, history and a context."""
    return answer_request(
        prompts,
        question.text,
        context,
        question.settings.response_type,
        question.history,
        user_prompt=question.user_prompt,
        system_prompt=question.system_prompt,
    )


def prompt_of(request: ChatRequest) -> str:
    """Return the messages of a request as one text, each under its role."""
    return "\n\n".join(f"--- {message.role} ---\n\n{message.content}" for message in request.messages)


def _lines(lines: Iterable[str]) -> str:
    text = "\n".join(lines)
    return fence(text, "json") if text else ""


def _json(**fields: str) -> str:
    return _encode(fields)
