"""Requests made from prompts and data.

The part that all calls of a kind share comes first and is byte-identical, so that a provider can cache it; the data of
one call comes last, in a fence.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from lightrag_dagster.core.identity import digest
from lightrag_dagster.core.protocols import ChatRequest, Message, Picture
from lightrag_dagster.settings.sections import AnswerFormat, ExtractionProfile
from lightrag_dagster.stages.prompts import Prompts
from lightrag_dagster.stages.prompts.fencing import fence

_LEVEL_CHARACTERS = 80
_SECTION_CHARACTERS = 1000
_DESCRIPTION_CHARACTERS = 1000


def _object(properties: Mapping[str, object]) -> dict[str, object]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _list_of(fields: Mapping[str, object]) -> dict[str, object]:
    return {"type": "array", "items": _object(fields)}


def list_schema(name: str, fields: Mapping[str, object]) -> dict[str, object]:
    """Return the JSON schema of an object with one list of objects, whose fields are all required."""
    return _object({name: _list_of(fields)})


_TEXT = {"type": "string"}
_ANSWER_SCHEMA: Mapping[str, object] = _object(
    {
        "entities": _list_of(dict.fromkeys(("name", "type", "description"), _TEXT)),
        "relationships": _list_of(dict.fromkeys(("source", "target", "keywords", "description"), _TEXT)),
    }
)
"""The format that `extraction.json_answers` reads, in the subset of JSON schema that structured outputs allow."""

_TYPE = re.compile(r"^\W*(\w+):", re.MULTILINE)


def _small_schema(prompts: Prompts) -> dict[str, object]:
    """Return the format with known types, and with bounds at which a model that repeats itself ends."""
    name, text = {"type": "string", "minLength": 2, "maxLength": 60}, {"type": "string", "maxLength": 160}
    types = {"type": "string", "enum": [*_TYPE.findall(prompts.texts["entity_types"]), "Other"]}
    # First the description: it is copied from the passage, and the name then from it.
    entity = {"description": text, "name": name, "type": types}
    relation = {"source": name, "target": name, "keywords": name, "description": text}
    lists = {"entities": _list_of(entity) | {"maxItems": 8}, "relationships": _list_of(relation) | {"maxItems": 6}}
    return _object(lists)


def short_path(heading: str) -> str:
    """Return a heading path on one line and short: each level cut, then all except the first and the last left out."""
    levels = [_one_line(level)[:_LEVEL_CHARACTERS] for level in heading.split(" > ")]
    path = " > ".join(levels)
    return path if len(path) <= _SECTION_CHARACTERS else f"{levels[0]} > … > {levels[-1]}"


def extraction_request(
    prompts: Prompts,
    content: str,
    heading: str | None,
    context: str | None = None,
    answer_format: AnswerFormat = "rows",
    *,
    profile: ExtractionProfile = "standard",
    gleans: bool = False,
) -> ChatRequest:
    """Ask for the entities and relations of one chunk, found under `heading` (`Part > Section`).

    `context`, if there is one, is given instead: it has the headings, and the header of the chunk's table. With
    `gleans`, further questions about the chunk begin with this one.
    """
    small = profile == "small"
    system = prompts.render("extraction_small") if small else _system(prompts, answer_format)
    parts = [] if small else [prompts.render("extraction_user")]
    parts += passage_parts(content, heading, context)
    schema = _small_schema(prompts) if small else _ANSWER_SCHEMA
    return ChatRequest(
        "extract",
        (Message("system", system, begins_others=True), Message("user", "\n\n".join(parts), begins_others=gleans)),
        json_answer=small or answer_format != "rows",
        answer_schema=schema if by_schema(answer_format, profile) else None,
    )


def by_schema(answer_format: AnswerFormat, profile: ExtractionProfile) -> bool:
    """Say whether a provider is given the JSON schema of an answer: small models are, unless a format is chosen."""
    return answer_format == "json_schema" or (profile == "small" and answer_format == "rows")


def passage_parts(content: str, heading: str | None, context: str | None) -> list[str]:
    """Return the parts of a message about one chunk: its section, and its text in a fence."""
    parts = []
    if context:
        parts.append(f"Section, with the header of the table that the passage is a part of:\n\n{_quoted(context)}")
    elif heading:
        parts.append(f"Section: {short_path(heading)}")
    return [*parts, fence(content)]


def _system(prompts: Prompts, answer_format: AnswerFormat) -> str:
    system = prompts.render("extraction_system", entity_types=prompts.render("entity_types"))
    return system if answer_format == "rows" else f"{system}\n\n{prompts.render('extraction_json')}"


def gleaning_request(previous: ChatRequest, answer: str, prompts: Prompts) -> ChatRequest:
    """Continue the conversation that `answer` ended: ask for missed records."""
    further = Message("user", prompts.render("gleaning_user"))
    return replace(previous, messages=(*previous.messages, Message("assistant", answer), further))


def summary_request(
    prompts: Prompts, kind: Literal["Entity", "Relation"], name: str, descriptions: Sequence[str], max_tokens: int
) -> ChatRequest:
    """Ask for one description made of several; a relation's name is `A — B`."""
    system = prompts.render("summary_system", max_tokens=max_tokens)
    lines = "\n".join(json.dumps({"Description": text}, ensure_ascii=False) for text in descriptions)
    user = f"{kind}: {_one_line(name)}\n\n{fence(lines, 'json')}"
    return ChatRequest("summarise", (Message("system", system), Message("user", user)))


def keyword_request(prompts: Prompts, query: str) -> ChatRequest:
    """Ask for a question's keywords, as JSON with `high_level_keywords` and `low_level_keywords`."""
    system = prompts.render("keywords_system")
    return ChatRequest("keywords", (Message("system", system), Message("user", f"Question:\n\n{fence(query)}")))


def relevance_request(prompts: Prompts, query: str, relations: Sequence[str]) -> ChatRequest:
    """Ask which relations, numbered one per line, help to answer a question, as JSON with `relations`."""
    lines = "\n".join(relations)
    user = f"Question:\n\n{fence(query)}\n\nRelations:\n\n{fence(lines, 'json')}"
    return ChatRequest("relevance", (Message("system", prompts.render("relevance_system")), Message("user", user)))


def rerank_request(prompts: Prompts, query: str, passages: Sequence[str]) -> ChatRequest:
    """Ask for the order of passages, numbered one per line, by their use for a question, as JSON with `order`."""
    lines = "\n".join(passages)
    user = f"Question:\n\n{fence(query)}\n\nPassages:\n\n{fence(lines, 'json')}"
    return ChatRequest("rerank", (Message("system", prompts.render("rerank_system")), Message("user", user)))


def hop_request(prompts: Prompts, query: str, asked: Sequence[str], passages: Sequence[str]) -> ChatRequest:
    """Ask for the next search for a question, as JSON with `next`, a question, or with `done`."""
    parts = [f"Question:\n\n{fence(query)}"]
    if asked:
        earlier = "\n".join(map(_one_line, asked))
        parts.append(f"Looked up so far:\n\n{fence(earlier)}")
    parts += ["Passages:", *map(fence, passages)] if passages else ["No passage was found."]
    return ChatRequest("hops", (Message("system", prompts.render("hops_system")), Message("user", "\n\n".join(parts))))


def answer_request(
    prompts: Prompts,
    query: str,
    context: str,
    response_type: str,
    history: Sequence[Message] = (),
    *,
    user_prompt: str = "",
    system_prompt: str = "",
) -> ChatRequest:
    """Ask the question itself; the context follows the instructions in the system message.

    `system_prompt` takes the place of our instructions; `user_prompt` comes after the context, and adds to them.
    """
    parts = [system_prompt or prompts.render("answer_system", response_type=response_type), context]
    if user_prompt:
        parts.append(f"# Further instructions\n\n{user_prompt}")
    return ChatRequest("answer", (Message("system", "\n\n".join(parts)), *history, Message("user", query)))


def judge_request(prompts: Prompts, question: str, context: str, answer: str) -> ChatRequest:
    """Ask for a judgement of an answer, as JSON with `faithfulness` and `relevance`, 1 to 5."""
    parts = {"Question": question, "Context": context, "Answer": answer}
    user = "\n\n".join(f"{title}:\n\n{fence(part)}" for title, part in parts.items())
    return ChatRequest("judge", (Message("system", prompts.render("judge_system")), Message("user", user)))


def draft_request(prompts: Prompts, content: str, context: str | None) -> ChatRequest:
    """Ask for a question that a passage answers, as JSON with `question`, perhaps null, and `answer`."""
    section = f"Section:\n\n{_quoted(context)}\n\n" if context else ""
    messages = (Message("system", prompts.render("draft_system")), Message("user", f"{section}{fence(content)}"))
    return ChatRequest("draft", messages)


def description_request(prompts: Prompts, picture: Picture, caption: str) -> ChatRequest:
    """Ask for a description of an image of a document."""
    user = f"Caption:\n\n{fence(caption)}" if caption else "The image has no caption."
    system = Message("system", prompts.render("description_system"))
    return ChatRequest("describe", (system, Message("user", user, (picture,))))


class PairEnd(NamedTuple):
    """An entity beside another that may be the same: its id, name, type, and the start of its description."""

    entity_id: str
    name: str
    type: str
    description: str


def resolve_request(prompts: Prompts, first: PairEnd, second: PairEnd) -> ChatRequest:
    """Ask whether two names are one entity, as JSON with `same` and `reason`.

    The answer is stored for the two names and types, in any order: other descriptions do not ask again.
    """
    pair = sorted((first, second))
    shown = "\n".join(
        json.dumps(
            {
                "number": number,
                "name": _one_line(one.name),
                "type": one.type,
                "description": one.description[:_DESCRIPTION_CHARACTERS],
            },
            ensure_ascii=False,
        )
        for number, one in enumerate(pair, start=1)
    )
    messages = (Message("system", prompts.render("resolve_system")), Message("user", fence(shown, "json")))
    return ChatRequest("resolve", messages, subject=digest(*((one.entity_id, one.type) for one in pair)))


def _quoted(text: str) -> str:
    """Mark every line, so that none of them can begin a fence."""
    return "\n".join(f"> {line}" for line in text.splitlines())


def _one_line(text: str) -> str:
    return " ".join(text.split())
