"""The choice, by a language model, of the relations where a walk starts.

After the recognition memory of HippoRAG 2 (Gutiérrez et al., "From RAG to Memory", 2025). One call per search.
"""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from lightrag_dagster.query.ask import parse_numbers
from lightrag_dagster.query.hits import Hits
from lightrag_dagster.query.search import Search
from lightrag_dagster.query.types import Relation
from lightrag_dagster.stages.prompts.requests import relevance_request

ASKED_RELATIONS = 20
"""Nearest relations that the model sees; the others are left out."""

_DESCRIPTION_CHARACTERS = 300


class Filtered(NamedTuple):
    """The relations where a walk may start, and notes for `--explain`."""

    relations: Hits
    notes: dict[str, Any]


def filter_relations(search: Search, near: Hits) -> Filtered:
    """Return the relations that the model keeps, with score 1, since it gives no similarity.

    Without the setting `filter_relations`, and if the model's answer cannot be used, all are kept as they are.

    Raises:
        ProviderAccessError: the model cannot be used at all, or the budget is spent.
    """
    if not search.settings.filter_relations or search.asking is None or not near:
        return Filtered(near, {})
    asked = dict(list(near.items())[:ASKED_RELATIONS])
    relations = list(search.snapshot.relations(asked))
    request = relevance_request(search.asking.prompts, search.query, list(relation_lines(relations)))
    notes: dict[str, Any] = {}
    kept = search.asking.optional(request, lambda text: parse_numbers(text, "relations", len(asked)), notes)
    if kept is None:
        return Filtered(near, _named("relations ", notes | {"kept": "all"}))
    rows, kept = list(asked), sorted(kept)
    named = tuple(f"{relations[place].src} — {relations[place].tgt}" for place in kept)
    notes |= {"kept": f"{len(kept)} of {len(asked)}"} | ({"that count": named} if named else {})
    return Filtered({rows[place]: 1.0 for place in kept}, _named("relations ", notes))


def relation_lines(relations: Iterable[Relation]) -> Iterable[str]:
    """Yield a line of JSON per relation, numbered from 1, with the start of its description."""
    for number, one in enumerate(relations, start=1):
        description = one.description[:_DESCRIPTION_CHARACTERS]
        fields = {"number": number, "entity1": one.src, "entity2": one.tgt, "description": description}
        yield json.dumps(fields, ensure_ascii=False)


def _named(what: str, notes: dict[str, Any]) -> dict[str, Any]:
    return {what + name: value for name, value in notes.items()}
