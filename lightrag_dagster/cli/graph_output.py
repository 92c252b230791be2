"""Answers of the graph on the terminal, or as JSON."""

from collections import defaultdict
from collections.abc import Callable

from rich.console import Console

from lightrag_dagster.cli import terminal
from lightrag_dagster.cli.tables import print_table
from lightrag_dagster.core.text.counted import counted
from lightrag_dagster.query.graph import types
from lightrag_dagster.query.knowledge_base import KnowledgeBase
from lightrag_dagster.stages.merging.summaries import SEPARATOR

_BRIEF = 160
"""Most characters of a description beside others; JSON has it whole."""


Answer = types.Choice | types.Profile | types.Neighbourhood | types.Connection


def answer(console: Console, snapshot: str | None, as_json: bool, ask: Callable[[KnowledgeBase], Answer]) -> None:
    """Ask a snapshot, the published one unless named, and print the answer; raises as `KnowledgeBase.open`."""
    with KnowledgeBase.open(snapshot_id=snapshot) as knowledge:
        found = ask(knowledge)
    if as_json:
        terminal.print_json(found.to_dict())
    else:
        print_answer(console, found)


def print_answer(console: Console, found: Answer) -> None:
    """Print an answer; notes on it go to standard error."""
    for note in found.notes:
        terminal.console(stderr=True).print(f"note: {note}")
    match found:
        case types.Choice():
            _print_choice(console, found)
        case types.Profile():
            _print_profile(console, found)
        case types.Neighbourhood():
            _print_neighbourhood(console, found)
        case types.Connection():
            _print_connection(console, found)


def _print_choice(console: Console, found: types.Choice) -> None:
    """Print the entities that a name may mean."""
    if found.matches:
        rows = [(one.name, one.type, f"{one.passages:,}", _fit(one), one.entity_id) for one in found.matches]
        columns = ("entity", "type", "passages", "fits", "id")
        # The names will do to choose one, unless two are equal.
        shown = len(columns) - (len({one.name for one in found.matches}) == len(rows))
        print_table(console, columns[:shown], [row[:shown] for row in rows], wrap=("entity", "type", "fits"))
    else:
        console.print(
            f"No entity is called {found.name!r}, or like it. `query --mode bm25` looks for words in the texts."
        )
    if found.left_out:
        console.print(f"{found.left_out:,} more; --limit prints them.")


def _print_profile(console: Console, found: types.Profile) -> None:
    """Print all about one entity."""
    _print_title(console, found)
    console.print(f"passages: {found.passages:,}, in {', '.join(found.sources)}; relations: {found.degree:,}")
    console.print(f"\n{_joined(found.description)}")
    if found.aliases:
        console.print("\nAlso called", style="bold")
        for alias in found.aliases:
            console.print(f"  {alias.name} ({f'{alias.passages:,}' if alias.passages else 'in no mention of its own'})")
        _print_rest(console, found.aliases_left_out)
    console.print("\nEvidence, newest first", style="bold")
    for quote in found.evidence:
        _print_quote(console, quote)
    _print_rest(console, found.evidence_left_out)
    if found.neighbours:
        console.print("\nNeighbours, by weight", style="bold")
        for one in found.neighbours:
            console.print(_neighbour(one))
        _print_rest(console, found.neighbours_left_out)


def _print_neighbourhood(console: Console, found: types.Neighbourhood) -> None:
    """Print the entities around one."""
    _print_title(console, found)
    for distance, count in enumerate(found.counts, 1):
        near = [one for one in found.neighbours if one.distance == distance]
        console.print(f"\n{counted(distance, 'hop', 'hops')}: {count:,}", style="bold")
        for one in near:
            console.print(_neighbour(one, through=distance > 1))
        _print_rest(console, count - len(near))
    if not found.counts:
        console.print("no relation leads anywhere")


def _print_connection(console: Console, found: types.Connection) -> None:
    """Print the paths between two entities."""
    if found.components:
        sizes = " and ".join(f"{size:,}" for size in found.components)
        console.print(f"No path leads from {found.src} to {found.tgt}: they are in parts of {sizes} entities.")
    same = defaultdict[tuple[str, ...], list[types.GraphPath]](list)  # the shortest path may be the strongest
    for path in found.paths:
        same[tuple(step.relation_id for step in path.steps)].append(path)
    for path, *others in same.values():
        length = "" if path.length is None else f", 1 / weight in sum {path.length:.3g}"
        ways = " and ".join({"hops": "shortest", "weight": "strongest"}[one.by] for one in (path, *others))
        console.print(f"{ways}: {counted(path.hops, 'hop', 'hops')}{length}", style="bold")
        console.print(" → ".join(path.names))
        for step in path.steps:
            console.print(f"\n  {step.src} — {step.tgt} (weight {step.weight:g}): {_brief(step.description)}")
            for quote in step.evidence:
                _print_quote(console, quote, "    ")
            _print_rest(console, step.evidence_left_out, "    ")
        console.print()


def _print_title(console: Console, found: types.Profile | types.Neighbourhood) -> None:
    console.print(f"{found.name} ({found.type}), {found.entity_id}", style="bold")


def _print_quote(console: Console, quote: types.Quote, indent: str = "  ") -> None:
    pages = "" if quote.page is None else f", page {quote.page}"
    if quote.page is not None and (quote.page_end or quote.page) != quote.page:
        pages = f", pages {quote.page}–{quote.page_end}"
    others = f"; places: {quote.places:,}" if quote.places > 1 else ""
    console.print(f"{indent}{quote.date or 'undated'}  {quote.source}/{quote.path}{pages}{others}")
    console.print(f"{indent}  “{_line(quote.text)}”")


def _print_rest(console: Console, left_out: int, indent: str = "  ") -> None:
    if left_out:
        console.print(f"{indent}… and {left_out:,} more")


def _fit(match: types.Match) -> str:
    if match.kind in ("exact", "id") or match.matched == match.name:
        return match.kind
    return f"{match.kind}: {match.matched}"


def _neighbour(one: types.Neighbour, *, through: bool = False) -> str:
    by = f", by {one.through}" if through else ""
    return f"  {one.weight:g}  {one.name} ({one.type}){by}: {_brief(one.description)}"


def _brief(text: str) -> str:
    """Return the begin of a description: its first part, shortened."""
    line = _line(text.split(SEPARATOR)[0])
    return line if len(line) <= _BRIEF else f"{line[: _BRIEF - 1].rpartition(' ')[0]} …"


def _joined(text: str) -> str:
    """Return a description with its parts on lines of their own."""
    return "\n".join(_line(part) for part in text.split(SEPARATOR))


def _line(text: str) -> str:
    return " ".join(text.split())
