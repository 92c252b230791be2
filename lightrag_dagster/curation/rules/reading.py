"""Decisions in force: those of the files that the setting `curation` names, and those of the table of commands.

They are an input of the merge, as recipes are: any history ends as a clean build given the same decisions.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from lightrag_dagster.core.identity import entity_id
from lightrag_dagster.curation.rules.decisions import Decision, Placed, type_as_read, version_of
from lightrag_dagster.curation.rules.files import read_files
from lightrag_dagster.curation.rules.resolving import NO_DECISIONS, Curation, resolve
from lightrag_dagster.errors import DecisionError, StoreError
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.database.address import is_there
from lightrag_dagster.storage.database.errors import address_name
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.snapshots.generations import Generation
from lightrag_dagster.storage.snapshots.snapshots import published_snapshot

if TYPE_CHECKING:
    from lightrag_dagster.storage.database.decisions import DecisionStore, StoredDecision

_OF_TABLE: Final = "decision "
_WRITTEN = ("describe", "add", "retype")


@dataclass(frozen=True)
class InForce:
    """Decisions, resolved, and a hash of those that shape the merge; empty without any."""

    decisions: tuple[Placed, ...] = ()
    curation: Curation = NO_DECISIONS

    @property
    def version(self) -> str:
        """A hash of the decisions that shape the merge: to keep names apart shapes nothing."""
        return version_of([one for one in self.decisions if one.decision.action != "apart"])

    @property
    def last_taken(self) -> int:
        """The highest number of those of the table; 0 without any."""
        numbers = (one.place.removeprefix(_OF_TABLE) for one in self.decisions)
        return max((int(number) for number in numbers if number.isdecimal()), default=0)

    def within(self, scope: str, found: Collection[str], types: Collection[str]) -> "InForce":
        """Return the decisions that act in a scope, resolved: they tell its readers nothing that its documents do not.

        Each of the names of one is in the documents that the scope shows, `found` are the ids of those that are, or in
        an addition for the scope. Texts of people, of `describe` and `add`, belong to the scopes that the decision
        names, and so does a type that is not among `types`, those of these documents.

        Raises:
            DecisionError: they cannot all hold without the others.
        """
        additions = (one.decision for one in self.decisions if one.decision.action == "add")
        there = {*found, *(each for one in additions if scope in one.scopes for each in one.ids)}
        return resolved([one for one in self.decisions if _acts(one.decision, scope, there, types)])


def _acts(decision: Decision, scope: str, found: Collection[str], types: Collection[str]) -> bool:
    is_known = decision.action == "retype" and type_as_read(decision.type) in types
    if decision.action in _WRITTEN and scope not in decision.scopes and not is_known:
        return False
    return decision.action == "add" or all(one in found for one in _names(decision))


def _names(decision: Decision) -> tuple[str, ...]:
    return (*decision.ids, *([entity_id(decision.into)] if decision.into else []))


class Taken(NamedTuple):
    """A decision of the table, and whether it was undone."""

    number: int
    decision: Decision
    undone: bool


def in_force(settings: Settings) -> InForce:
    """Read and resolve the decisions in force.

    Raises:
        DecisionError: a file cannot be read, or two decisions cannot both hold.
        StoreError: the database refuses.
    """
    return resolved(decisions_of(settings))


def resolved(decisions: Sequence[Placed]) -> InForce:
    """Resolve decisions; raises DecisionError as `resolve`."""
    return InForce(tuple(decisions), resolve(decisions)) if decisions else InForce()


def decisions_of(settings: Settings) -> list[Placed]:
    """Return the decisions in force, of files and of the table, in this order; raises as `taken` and `read_files`."""
    found = read_files(settings.curation) if settings.curation else []
    return found + [Placed(one.decision, place_of(one.number)) for one in taken(Home.of(settings)) if not one.undone]


def taken(home: Home) -> list[Taken]:
    """Return all decisions of the table, also those that were undone.

    Raises:
        DecisionError: the published snapshot was built with some, and the file of the table is gone.
        StoreError: the database refuses.
    """
    return [Taken(one.number, Decision.model_validate_json(one.document), one.undone) for one in _stored(home)]


def place_of(number: int) -> str:
    """Return the place of a decision of the table."""
    return f"{_OF_TABLE}{number}"


def lost_number(home: Home) -> int:
    """Return the last known number of decisions if their table is gone, or has never had one; else 0.

    A table that has had one remembers its number, also if all were undone and erased.
    """
    number = _last_built(home)
    if number and is_there(home.decisions):
        with _opened(home) as store:
            return 0 if store.last else number
    return number


def copy_decisions(home: Home, copy: Home) -> None:
    """Copy the table of decisions to another home, which has none; raises as `taken`."""
    stored, built = _stored(home), _last_built(home)
    if stored or built:
        with _opened(copy) as store:
            store.skip(max(built, 1))
            store.copy(stored)


def _stored(home: Home) -> "list[StoredDecision]":
    stored: list[StoredDecision] = []
    if is_there(home.decisions):
        with _opened(home) as store:
            stored = store.all()
    if not stored and (number := lost_number(home)):
        raise DecisionError(
            f"{address_name(home.decisions)} has no decision, and the published snapshot was built with some, to "
            f"number {number}; restore it from a backup, or build without them: `lightrag-dagster curate undo --lost`"
        )
    return stored


def _last_built(home: Home) -> int:
    """Return the highest number of the decisions that the published snapshot was built with; 0 without any."""
    try:
        snapshot = published_snapshot(home)
        return Generation(home, snapshot.snapshot_id).record().curation.last_taken if snapshot else 0
    except StoreError:  # the next build makes it again
        return 0


def _opened(home: Home) -> "DecisionStore":
    from lightrag_dagster.storage.database.decisions import DecisionStore  # a merge and a question need no database

    return DecisionStore(home.decisions)
