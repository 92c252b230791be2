"""Commands `curate …`: decisions about names, listed, taken and undone."""

import datetime
import getpass
import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from rich.console import Console

from lightrag_dagster.cli.tables import print_table
from lightrag_dagster.cli.terminal import print_json
from lightrag_dagster.core.identity import entity_id
from lightrag_dagster.core.text.counted import counted
from lightrag_dagster.curation import rules
from lightrag_dagster.curation.desk import KnownNames, accept_loss, in_documents, known_names, take, undo
from lightrag_dagster.errors import DecisionError
from lightrag_dagster.settings import Settings, load_settings
from lightrag_dagster.storage.home import Home

NEXT = "It takes effect with the next `lightrag-dagster run`; `lightrag-dagster plan` shows what that costs."
_UNDONE = "The next `lightrag-dagster run` builds without it; `lightrag-dagster plan` shows what that costs."
_LISTED = 20
"""Unknown names for which the nearest are looked up."""


def signed(author: str | None = None) -> dict[str, object]:
    """Return who decides, the user of this machine unless named, and today."""
    with suppress(KeyError, OSError):  # of a user without a name, as in a container
        author = author or getpass.getuser()
    return {"author": author or f"user {os.getuid()}", "date": datetime.date.today()}


def decide(console: Console, **values: object) -> None:
    """Take a decision, with names as documents have them.

    Raises:
        DecisionError: it is not one, or does not hold together with those in force.
        StoreError: the database refuses.
    """
    settings = load_settings()
    given = signed() | {name: value for name, value in values.items() if value}
    decision = rules.check_decision("the decision", **given).decision
    if unknown := sorted({*decision.scopes} - settings.scopes.keys()):
        raise DecisionError(f"there is no scope {unknown[0]!r} in the settings; name one of `scopes`")
    before = rules.decisions_of(settings)
    named = decision.names[0]
    with known_names(Home.of(settings), before) as known:
        if known:
            decision = in_documents(known, decision)
            rules.check_names(decision, "the decision")
        new = rules.Placed(decision, "the new decision")
        unknown = list(unknown_names([new], rules.resolved([*before, new]).curation.named, known)) if known else []
    (number,) = take(settings, [decision])
    if decision.action == "split" and decision.names[0] != named:
        unknown.append(f"It splits “{decision.names[0]}” alone; other names of “{named}” need a split each.")
    console.print(f"{rules.place_of(number).capitalize()}: {described(decision)}. {NEXT}")
    for line in unknown:
        console.print(line)


def undo_decisions(console: Console, numbers: Sequence[int]) -> None:
    """Undo decisions of the table, the last one unless numbers are given; raises DecisionError if there are none."""
    found = undo(load_settings(), numbers)
    said = [f"{rules.place_of(one.number).capitalize()} is undone, that {described(one.decision)}." for one in found]
    console.print("\n".join(said), _UNDONE if len(found) == 1 else _UNDONE.replace("without it", "without them"))
    if others := max(0, len(numbers) - len(found)):
        console.print(f"{counted(others, 'other number is', 'other numbers are')} of no decision in force.")


def undo_lost(console: Console) -> None:
    """Let decisions whose table is gone count as undone; raises DecisionError if it is not."""
    number = accept_loss(load_settings())
    said = f"The decisions to number {number:,}, which are lost, count as undone."
    console.print(f"{said} {_UNDONE.replace('without it', 'without them')}")


def list_decisions(console: Console, *, as_json: bool) -> None:
    """Print the decisions in force; raises as `decisions_of`."""
    found = rules.decisions_of(load_settings())
    if as_json:
        print_json({"decisions": [{"place": one.place, **one.decision.model_dump(mode="json")} for one in found]})
        return
    if not found:
        console.print("No decision is in force; `lightrag-dagster curate --help` lists the kinds.")
        return
    rows = [(place, described(one), one.author or "", str(one.date or ""), one.reason or "") for one, place in found]
    print_table(console, ("place", "decision", "by", "on", "reason"), rows, wrap={"decision", "reason"})


def check_decisions(console: Console) -> None:
    """Print whether the decisions hold together, and the names in them that no document has.

    Raises:
        DecisionError: a file cannot be read, or two decisions cannot both hold.
    """
    settings = load_settings()
    found = rules.in_force(settings)
    with known_names(Home.of(settings)) as known:
        missing = [] if known is None else list(unknown_names(found.decisions, found.curation.named, known))
    held = "decision is in force and holds together", "decisions are in force and hold together"
    console.print(f"{counted(len(found.decisions), *held)}.")
    scopes = misnamed_scopes(found.decisions, settings)
    for line in [*missing, *scopes]:
        console.print(line)


def described(decision: rules.Decision) -> str:
    """Return a decision in a few words."""
    first, *others = (f"“{name}”" for name in decision.names)
    relation = f"the relation of {first} and {others[0]}" if len(decision.names) == 2 else first
    into = f"“{decision.into}”"
    match decision.action:
        case "merge":
            return f"{' and '.join((first, *others))} are one{f', called {into}' if decision.into else ''}"
        case "apart":
            return f"{' and '.join((first, *others))} are kept apart"
        case "rename":
            return f"{first} is called {into}"
        case "retype":
            return f"{first} is of type {decision.type}"
        case "describe":
            return f"{relation} is described{_seen_in(decision)}"
        case "remove":
            return f"{relation} is removed"
        case "split":
            return f"mentions of {first} {_conditions(decision)} are {into}"
        case "add":
            return f"{relation} is added{_seen_in(decision)}"


def _seen_in(decision: rules.Decision) -> str:
    return f", also in scope {' and '.join(decision.scopes)}" if decision.scopes else ""


def _conditions(decision: rules.Decision) -> str:
    parts = [
        f"{phrase} {' or '.join(values)}"
        for phrase, values in (
            ("in source", decision.sources),
            ("at path", decision.paths),
            ("of type", decision.types),
        )
        if values
    ]
    return " and ".join(parts)


def unknown_names(decisions: Sequence[rules.Placed], named: Mapping[str, str], known: KnownNames) -> Iterator[str]:
    """Yield a line for each name in decisions that no document has, of those that one must have, by their ids."""
    places = defaultdict[str, list[str]](list)
    for one in decisions:
        for base in dict.fromkeys(one.decision.ids):
            places[base].append(one.place)
    unknown = sorted(name for base, name in named.items() if base in places and not known.is_known(name))
    for at, name in enumerate(unknown):
        meant = _meant(known, name) if at < _LISTED else ""
        yield f"{', '.join(places[entity_id(name)])}: no document has the name “{name}”{meant}."


def misnamed_scopes(decisions: Sequence[rules.Placed], settings: Settings) -> Iterator[str]:
    """Yield a line for each scope in decisions that the settings do not have: no reader sees what it was to show."""
    for decision, place in decisions:
        for scope in sorted({*decision.scopes} - settings.scopes.keys()):
            yield f"{place} names the scope “{scope}”, and `scopes` of the settings has none of that name."


def _meant(known: KnownNames, name: str) -> str:
    nearest = [f"“{one}”" for one in known.nearest(name)]
    return f"; the nearest are {', '.join(nearest)}" if nearest else ""
