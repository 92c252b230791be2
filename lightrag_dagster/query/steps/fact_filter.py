"""The choice, by a language model, of the facts (relations) where a walk starts.

After the recognition memory of HippoRAG 2 (Gutiérrez et al., "From RAG to Memory", 2025). One call per search.
"""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from lightrag_dagster.query.hits import Hits
from lightrag_dagster.query.search import Search
from lightrag_dagster.query.types import Relation
from lightrag_dagster.stages.extraction.reasoning import read_object
from lightrag_dagster.stages.prompts.requests import facts_request

ASKED_FACTS = 20
"""Nearest relations that the model sees; the others are left out."""

_DESCRIPTION_CHARACTERS = 300


class Filtered(NamedTuple):
    """The facts where a walk may start, and notes for `--explain`."""

    facts: Hits
    notes: dict[str, Any]


def filter_facts(search: Search, facts: Hits) -> Filtered:
    """Return the facts that the model keeps, with score 1, since it gives no similarity.

    Without the setting `filter_facts`, and if the model's answer cannot be used, all facts are kept as they are.

    Raises:
        ProviderAccessError: the model cannot be used at all, or the budget is spent.
    """
    if not search.settings.filter_facts or search.asking is None or not facts:
        return Filtered(facts, {})
    asked = dict(list(facts.items())[:ASKED_FACTS])
    relations = list(search.snapshot.relations(asked))
    request = facts_request(search.asking.prompts, search.query, list(fact_lines(relations)))
    notes: dict[str, Any] = {}
    kept = search.asking.optional(request, lambda text: parse_numbers(text, len(asked)), notes)
    if kept is None:
        return Filtered(facts, _named("facts ", notes | {"kept": "all"}))
    rows = list(asked)
    named = tuple(f"{relations[place].src} — {relations[place].tgt}" for place in kept)
    notes |= {"kept": f"{len(kept)} of {len(asked)}"} | ({"that count": named} if named else {})
    return Filtered({rows[place]: 1.0 for place in kept}, _named("facts ", notes))


def fact_lines(relations: Iterable[Relation]) -> Iterable[str]:
    """Yield a line of JSON per relation, numbered from 1, with the start of its description."""
    for number, one in enumerate(relations, start=1):
        description = one.description[:_DESCRIPTION_CHARACTERS]
        fields = {"number": number, "entity1": one.src, "entity2": one.tgt, "description": description}
        yield json.dumps(fields, ensure_ascii=False)


def parse_numbers(text: str, most: int) -> list[int] | None:
    """Read a JSON object with `facts`, numbers from 1 to `most`; return them as positions from 0, in order, each once.

    Other numbers are left out. None if there is no such object, or it has no number of a fact.
    """
    try:
        given = [int(one) for one in read_object(text)["facts"]]
    except (ValueError, KeyError, TypeError, OverflowError):
        return None
    places = sorted({number - 1 for number in given if 1 <= number <= most})
    return places if places or not given else None


def _named(what: str, notes: dict[str, Any]) -> dict[str, Any]:
    return {what + name: value for name, value in notes.items()}
