"""Passes in tests: their schemas, and a model that reads the passages of `support` by them."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lightrag_dagster.core.text.tokens import load_tokenizer
from lightrag_dagster.settings import Settings, load_settings
from tests.loopback import Answer, Loopback
from tests.models.models import offline_answer, role_of

WORKS = """\
types: {person: Somebody, organisation: A company, place: Somewhere}
relations:
  maintains: {from: person, to: place, single: true}
  leads: {from: person, to: place}
"""
EVENTS = """\
types: [person, organisation, place]
relations:
  closed: {from: person, to: place, dated: true}
  opened: {from: organisation, to: place, dated: true}
"""
_SENTENCES = {
    "maintains": r"(Marta Lindqvist) maintains the gauge at (Halden Weir)",
    "leads": r"(Jonas Feld) leads the (office)",
    "closed": r"(Jonas Feld) closed (Station 14)",
    "opened": r"(Orrin Instruments) opened an office in (Bergen)",
}


def write_schemas(folder: Path, **schemas: str) -> Path:
    """Make a folder hold exactly these schemas, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.iterdir():
        file.unlink()
    for name, text in schemas.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return folder


def is_of_pass(body: Mapping[str, Any]) -> bool:
    """Say whether a request to `/chat/completions` is one of a pass."""
    return "record the facts in it that fit the schema" in body["messages"][0]["content"]


def asked_of(body: Mapping[str, Any]) -> str:
    """Tell what a request is for: the first relation of the pass's schema, extract or summarise."""
    if not is_of_pass(body):
        return role_of(body)
    found = re.search(r"Relations:\s+- (\w+)", body["messages"][0]["content"])
    assert found
    return found[1]


def facts_of(body: Mapping[str, Any], *, forged: Sequence[str] = ()) -> str:
    """Answer a request of a pass with the facts of its passage, and those whose words are forged."""
    system, passage = (message["content"] for message in body["messages"])
    facts = []
    for relation, pattern in _SENTENCES.items():
        if f"- {relation}:" in system and (found := re.search(pattern, passage)):
            ends = zip(("subject", "object"), found.groups(), strict=True)
            types = re.search(rf"- {relation}: subject: (\w+); object: (\w+)", system)
            assert types
            named = {"subject_type": types[1], "object_type": types[2]}
            facts.append({"words": found[0], "relation": relation, "value": "", "when": "", **dict(ends), **named})
    facts += [fact | {"words": words} for fact in facts[:1] for words in forged]
    return json.dumps({"facts": facts})


def answer(body: dict[str, Any], text: str | None = None) -> Answer:
    """Answer passes so, other questions by the offline rules, unless with a text, and count tokens as OpenAI does."""
    text = text or (facts_of(body) if is_of_pass(body) else offline_answer(body))
    count = load_tokenizer("o200k_base").count
    asked = sum(count(message["content"]) + 4 for message in body["messages"]) + 3
    return Answer(text, usage={"prompt_tokens": asked, "completion_tokens": count(text), "total_tokens": 0})


def model_settings(folder: Path, loopback: Loopback, llm: Mapping[str, object] | None = None, **more: Any) -> Settings:
    """Have the server answer passes too, and return the settings of a home in a folder whose model it is."""
    loopback.chat = answer
    model = {"provider": "openai", "model": "gpt-4o-mini", **(llm or {})}
    places = {"home": folder / "home", "sources": folder / "sources"}
    return load_settings(**places, llm=model, extraction={"gleaning": 0}, **more)


def with_passes(settings: Settings, folder: Path, **schemas: str) -> Settings:
    """Return settings that name a folder of these schemas."""
    return settings.changed(readings=write_schemas(folder, **schemas))
