"""Decisions in a scope: those that tell its readers nothing that its own documents do not."""

from collections.abc import Collection

from lightrag_dagster.core.identity import entity_id
from lightrag_dagster.curation.rules.decisions import Decision
from lightrag_dagster.curation.rules.reading import InForce, resolved

_WRITTEN = ("describe", "add")


def names_decided(decided: InForce) -> frozenset[str]:
    """Return the ids of all names in decisions, those that they give too."""
    return frozenset(one for placed in decided.decisions for one in _names(placed.decision))


def within(decided: InForce, scope: str, found: Collection[str]) -> InForce:
    """Return the decisions that act in a scope, resolved.

    Each of the names of one is in the documents that the scope shows, `found` are the ids of those that are; but for
    additions. Texts of people, of `describe` and `add`, belong to the scopes that the decision names.

    Raises:
        DecisionError: they cannot all hold without the others.
    """
    return resolved([one for one in decided.decisions if _acts(one.decision, scope, found)])


def _acts(decision: Decision, scope: str, found: Collection[str]) -> bool:
    if decision.action in _WRITTEN and scope not in decision.scopes:
        return False
    return decision.action == "add" or all(one in found for one in _names(decision))


def _names(decision: Decision) -> tuple[str, ...]:
    return (*decision.ids, *([entity_id(decision.into)] if decision.into else []))
