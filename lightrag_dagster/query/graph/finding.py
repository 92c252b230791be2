"""The entities that a name may mean, and the one that it does."""

import re
from typing import Any, get_args

import numpy as np
import pyarrow as pa

from lightrag_dagster.core.text.counted import counted
from lightrag_dagster.core.text.names import normalise_name
from lightrag_dagster.errors import QueryError
from lightrag_dagster.indexes.adjacency import Adjacency
from lightrag_dagster.indexes.arrays import find_sorted
from lightrag_dagster.query.arguments import shown, text
from lightrag_dagster.query.graph.types import Choice, Kind, Match
from lightrag_dagster.query.snapshot import Snapshot
from lightrag_dagster.query.statements import digits_in, folded, in_words

LIKE = 0.75
"""Least likeness of a name that may be meant."""

_NEAREST = 0.5
"""Least likeness of a name that an error suggests."""

_SUGGESTED = 3
_CHOICES = 10
_EXAMINED = 100
"""Entities of the same name that are compared by their displayed names."""

_MOST_CHARACTERS = 1_000
_ID = re.compile(r"ent-[0-9a-f]{32}")
_WITHOUT_SPACES = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]+")
_ALIKE = {2: "prefix", 3: "word", 4: "similar"}
_WHOLE = get_args(Kind)[:3]


def find(seen: Snapshot, name: str, limit: int) -> Choice:
    """Return the entities that a name may mean, best first.

    Raises:
        QueryError: the name is empty or too long.
        StoreError: a table of the snapshot is missing or damaged.
    """
    asked = _checked(name, "the name")
    if (row := _with_id(seen.graph, asked)) is not None:
        return Choice(asked, _matches(seen, [{"row": row, "name": None, "rank": 1, "likeness": 1.0}]), 0, seen.notes)
    matches, found = _named(seen, asked, LIKE, limit)
    return Choice(asked, matches, found - len(matches), seen.notes)


def resolve(seen: Snapshot, name: str, argument: str = "the name") -> tuple[int, tuple[str, ...]]:
    """Return the row of the entity that a name means, and a note if it is called otherwise.

    Raises:
        QueryError: no entity has the name, or several may be meant.
        StoreError: a table of the snapshot is missing or damaged.
    """
    asked = _checked(name, argument)
    if (row := _with_id(seen.graph, asked)) is not None:
        return row, ()
    called = seen.statements.rows("same", fold=_folds(asked), most=_EXAMINED).to_pylist()
    matches, found = _best(seen, called, _CHOICES)
    if not matches:
        matches, found = _named(seen, asked, LIKE, _CHOICES)
    if not matches:
        raise _unknown(seen, asked)
    best = [one for one in matches if one.kind == matches[0].kind]
    best = [one for one in best if one.name == asked] or best  # of those that differ in accents or case
    if len(best) > 1 or (found > len(matches) and len(best) == len(matches)):
        raise _unclear(asked, best, found)
    (meant,) = best
    row = int(seen.graph.entities.rows_of([meant.entity_id])[0])
    return row, () if meant.kind in _WHOLE else (f"no entity is called {shown(asked)}; meant is {shown(meant.name)}",)


def _named(seen: Snapshot, asked: str, least: float, limit: int) -> tuple[tuple[Match, ...], int]:
    """Return the best entities that a name may mean, and the number of all."""
    fold = folded(pa.array([asked], pa.string()))
    columns = {"fold": fold, "words": in_words(fold), "digits": digits_in(fold)}
    values = {name: column[0].as_py() for name, column in columns.items()}
    within = bool(_WITHOUT_SPACES.fullmatch(values["words"]))
    found = seen.statements.rows("find", **values, within=within, least=least, most=max(limit, _EXAMINED))
    return _best(seen, found.to_pylist(), limit)


def _best(seen: Snapshot, rows: list[dict[str, Any]], limit: int) -> tuple[tuple[Match, ...], int]:
    """Return the first entities found, and the number of all.

    Those of just the name asked for come in one order from the database, and in another one by their displayed names.
    """
    if not rows:
        return (), 0
    kept = rows[: max(limit, rows[0]["same"])]
    for row, number in zip(kept, seen.graph.entities.rows_of([one["entity_id"] for one in kept]).tolist(), strict=True):
        row["row"] = number
    return _matches(seen, kept)[:limit], rows[0]["found"]


def _matches(seen: Snapshot, found: list[dict[str, Any]]) -> tuple[Match, ...]:
    """Return entities with the names by which they were found; those that are displayed so come before aliases."""
    rows = np.array([one["row"] for one in found], dtype=np.int32)
    passages = np.diff(seen.graph.entity_chunks.offsets)[rows].tolist()
    matches = []
    for one, entity, number in zip(found, seen.graph.entities.take(rows), passages, strict=True):
        matched, kind = one["name"], _ALIKE.get(one["rank"], "alias")
        if matched is None:
            matched, kind = entity["entity_id"], "id"
        elif one["rank"] == 1 and _folds(entity["name"]) == _folds(matched):
            matched, kind = entity["name"], "exact"
        matches.append(
            Match(entity["entity_id"], entity["name"], entity["type"], number, matched, kind, round(one["likeness"], 3))  # type: ignore[arg-type]
        )
    return tuple(sorted(matches, key=lambda one: get_args(Kind).index(one.kind)))


def _folds(name: str) -> str:
    fold: str = folded(pa.array([name], pa.string()))[0].as_py()
    return fold


def _with_id(graph: Adjacency, asked: str) -> int | None:
    """Return the row of an entity id; None if the text is none, or no entity that may be seen has it."""
    if not _ID.fullmatch(asked):
        return None
    rows, known = find_sorted(graph.entities.ids, np.array([asked], dtype=np.bytes_))
    return int(rows[0]) if known[0] and len(graph.entity_chunks.of(rows[0])) else None


def _checked(name: object, argument: str) -> str:
    """Return a name as it is read in an answer, where no other spelling reaches those of documents."""
    asked = text(name, argument).strip()
    if not asked:
        raise QueryError(f"{argument} is empty; give the name of an entity, or a part of it")
    if len(asked) > _MOST_CHARACTERS:
        raise QueryError(
            f"{argument} has {len(asked):,} characters, and {_MOST_CHARACTERS:,} is the most that is looked up; "
            "shorten it"
        )
    return normalise_name(asked) or asked


def _unclear(asked: str, best: list[Match], found: int) -> QueryError:
    said = (f"{counted(one.passages, 'passage', 'passages')}, {one.entity_id}" for one in best)
    listed = "; ".join(f"{one.name} ({one.type}, {more})" for one, more in zip(best, said, strict=True))
    more = f"; {found - len(best):,} more fit" if found > len(best) else ""
    return QueryError(f"{shown(asked)} may mean several entities; give the name or id of one: {listed}{more}")


def _unknown(seen: Snapshot, asked: str) -> QueryError:
    matches, _ = _named(seen, asked, _NEAREST, _SUGGESTED)
    nearest = f"the nearest are {', '.join(shown(one.name) for one in matches)}" if matches else "none is near it"
    return QueryError(f"there is no entity {shown(asked)}; {nearest}")
