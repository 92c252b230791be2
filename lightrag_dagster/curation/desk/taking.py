"""Decisions that commands take and undo: appended to the table only if all hold together."""

from collections.abc import Sequence

from lightrag_dagster.curation import rules
from lightrag_dagster.errors import DecisionError
from lightrag_dagster.settings import Settings
from lightrag_dagster.storage.database.decisions import DecisionStore
from lightrag_dagster.storage.home import Home


def take(settings: Settings, decisions: Sequence[rules.Decision], places: Sequence[str] = ()) -> list[int]:
    """Append decisions to the table if all hold together with those in force, and return their numbers.

    `places` name them in errors, such as lines of a file.

    Raises:
        DecisionError: they do not, and nothing is appended.
        StoreError: the database refuses.
    """
    rules.resolve(rules.decisions_of(settings) + list(map(rules.Placed, decisions, places or _places(decisions))))
    with DecisionStore(Home.of(settings).decisions) as store:
        numbers = store.add([one.model_dump_json(exclude_defaults=True) for one in decisions])
        try:
            rules.in_force(settings)  # another process may have taken one meanwhile
        except DecisionError:
            for number in numbers:
                store.undo(number)
            raise
    return numbers


def undo(settings: Settings, numbers: Sequence[int] = ()) -> list[rules.Taken]:
    """Undo the decisions of the table with some numbers that are in force, or the last one, and return them.

    Raises:
        DecisionError: there is none, or the others held together with them, and do not without them.
        StoreError: the database refuses.
    """
    home = Home.of(settings)
    standing = [one for one in rules.taken(home) if not one.undone]
    found = [one for one in standing if one.number in numbers] if numbers else standing[-1:]
    if not found:
        which = f"none of the decisions {numbers[0]} to {numbers[-1]} is" if numbers else "no decision is"
        what = f"decision {numbers[0]} is not" if len(numbers) == 1 else which
        raise DecisionError(f"{what} in force in {home.name}; `lightrag-dagster curate` shows those that are")
    decisions = rules.decisions_of(settings)
    places = {rules.place_of(one.number) for one in found}
    problem = _contradiction([other for other in decisions if other.place not in places])
    if problem and not _contradiction(decisions):
        what, without = (f"decision {found[0].number}", "it") if len(found) == 1 else ("these decisions", "them")
        raise DecisionError(f"{what} cannot be undone before others: without {without}, {problem}")
    with DecisionStore(home.decisions) as store:
        for one in found:
            store.undo(one.number)
    return found


def _contradiction(decisions: Sequence[rules.Placed]) -> str | None:
    try:
        rules.resolve(decisions)
    except DecisionError as error:
        return str(error)
    return None


def accept_loss(settings: Settings) -> int:
    """Let the decisions of a table that is gone count as undone, and return the last number that is known of them.

    Raises:
        DecisionError: it is not gone.
        StoreError: the database refuses.
    """
    home = Home.of(settings)
    if not (number := rules.lost_number(home)):
        raise DecisionError(f"no decisions of {home.name} are lost; `lightrag-dagster curate` shows them")
    with DecisionStore(home.decisions) as store:
        store.skip(number)
    return number


def _places(decisions: Sequence[rules.Decision]) -> list[str]:
    if len(decisions) == 1:
        return ["the new decision"]
    return [f"the new decision about {one.names[0]!r}" for one in decisions]
