"""Entities, relations and known names of one's own: rows as decisions, and the shape of LightRAG's custom graphs.

Facts become the rows of a source, whose columns state them.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lightrag_dagster.core.identity import digest, entity_id
from lightrag_dagster.core.text.names import folded, normalise_name
from lightrag_dagster.core.text.sanitise import visible
from lightrag_dagster.curation.desk import take
from lightrag_dagster.curation.rules import Placed, check_decision, decisions_of, resolve, taken
from lightrag_dagster.errors import DecisionError, SourceError, one_line
from lightrag_dagster.imports.stored import TABLE, StoredBase, StoredDocument, answers_of, key_of, valid
from lightrag_dagster.settings import Settings
from lightrag_dagster.stages.documents.connectors.folder import LocalFolder
from lightrag_dagster.stages.documents.connectors.rows import as_text, with_sign
from lightrag_dagster.stages.documents.connectors.tables import TableFiles
from lightrag_dagster.stages.extraction.tuple_rows import strength
from lightrag_dagster.stages.facts.dates import read_date
from lightrag_dagster.stages.facts.values import read_number, read_yes_no
from lightrag_dagster.storage.home import Home

_OURS = {"entity_name": "name", "entity_type": "type", "description": "text", "src_id": "source", "tgt_id": "target"}
_DAYS, _TYPES = ("valid_from", "valid_to"), ("subject_type", "object_type")
_OF_ENTITY = {"name", "type", "text", "keywords", "aliases"}
_OF_RELATION = {"source", "target", "text", "keywords", "relation"}
_OF_FACT = {"subject", "relation", "object", "value", "unit", *_DAYS, *_TYPES}
_LEAST_WEIGHT, _WEIGHT_BELOW = 1e-9, 1_000_000_000  # others but 0 are too long for a strength
_KINDS = ("chunks", "entities", "relationships")
_TAKEN = _OF_ENTITY | _OF_RELATION | _OF_FACT
_OF_CHUNKS = _TAKEN | {"content", "source_id", "file_path", "weight"}

Row = Mapping[str, Any]
Facts = tuple[list[str], list[dict[str, str]]]
"""Rows with an `id` as JSON, a column for each relation; and what `rows.facts` of a source says of these."""


def read_table(file: Path, signed: Mapping[str, object]) -> tuple[StoredBase | None, list[Placed], Facts, list[str]]:
    """Read a table: a base of its chunks, or None, decisions of rows of no chunk, and facts, of rows with a subject.

    The columns of these rows that are passed over are the last.

    `signed` has author, date and reason of the decisions.

    Raises:
        SourceError: the file cannot be read.
        DecisionError: a row is neither a decision nor a fact; the message names it.
    """
    base, left = None, list[tuple[str, Row]]()
    try:
        if file.suffix.lower() == ".json":
            base, left = _custom_graph(file)
        else:
            rows = enumerate(TableFiles(LocalFolder(file)).rows(), start=1)
            places = ((f"{file.name}: row {number}", row) for number, row in rows)
            left = [(place, named) for place, row in places if (named := _named(row, place, _TAKEN))]
            if not left:
                raise ValueError("it has no rows")
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise SourceError(f"{file} cannot be read as a table: {one_line(error)}") from error
    facts = [(place, row) for place, row in left if "subject" in row]
    found = (one for place, row in left if "subject" not in row for one in _decisions(row, place, signed))
    over = sorted({column for _, row in left for column in row.keys() - _used(row)})
    return base, list({one.decision.content: one for one in found}.values()), _facts(facts), over


def new_decisions(settings: Settings, decisions: Sequence[Placed]) -> list[Placed]:
    """Return those that were not taken before, if all hold together; one that was undone stays so. Raises as `take`."""
    before = decisions_of(settings)
    known = {one.decision.content for one in before} | {one.decision.content for one in taken(Home.of(settings))}
    new = [one for one in decisions if one.decision.content not in known]
    resolve([*before, *new])
    return new


def take_new(settings: Settings, decisions: Sequence[Placed]) -> list[int]:
    """Take the decisions that were not taken before, and return their numbers; raises as `take`."""
    new = new_decisions(settings, decisions)
    return take(settings, [one.decision for one in new], [one.place for one in new]) if new else []


def _named(row: Row, place: str, columns: Collection[str]) -> dict[str, Any]:
    """Return the values of a row by our names of its columns; raises DecisionError for a structure in one of some."""
    found = dict[str, Any]()
    for column, value in row.items():
        name = _OURS.get(column.strip().lower(), column.strip().lower())
        if isinstance(value, list) and name in ("keywords", "aliases") and all(isinstance(one, str) for one in value):
            value = ", ".join(value) if name == "keywords" else value
        elif isinstance(value, list | dict | tuple | bytes) and name in columns and value:
            raise DecisionError(
                f"{place} has a list, an object or bytes as `{column}`; give it a text, `keywords` and `aliases` texts"
            )
        if value not in (None, "", [], {}) and not (isinstance(value, float) and not math.isfinite(value)):
            found[name] = str(value).lower() if isinstance(value, bool) else _valid(value)
    return found


def _used(row: Row) -> set[str]:
    return _OF_FACT if "subject" in row else _OF_RELATION if row.keys() & {"source", "target"} else _OF_ENTITY


def _valid(value: Any) -> Any:
    """Return a text, or a list of some, without what UTF-8 cannot write; other values as they are."""
    if isinstance(value, list):
        return [*map(_valid, value)]
    return valid(value) if isinstance(value, str) else value


def _decisions(row: Row, place: str, signed: Mapping[str, object]) -> Iterator[Placed]:
    """Yield an addition of a relation, or of an entity with a text, or the type and the aliases of a known name."""
    given = {name: visible(str(value)) for name, value in row.items() if name in _used(row)}
    keywords = ", ".join(given[one] for one in ("relation", "keywords") if one in given)
    written = {"text": given.get("text"), "keywords": keywords}
    if "source" in given or "target" in given:
        if not (given.get("source") and given.get("target")):
            raise DecisionError(f"{place} has a source or a target alone; give it both, or a `name`")
        ends = (given["source"], given["target"])
        yield check_decision(place, **signed, action="add", names=ends, **written)
        return
    aliases = row.get("aliases", "")
    names = (given.get("name", ""), *(aliases if isinstance(aliases, list) else str(aliases).split(";")))
    spelt = dict[str, str]()
    for name in filter(None, (visible(one).strip() for one in names)):
        spelt.setdefault(entity_id(normalise_name(name) or name), name)
    names = tuple(spelt.values())
    if not names:
        raise DecisionError(f"{place} has no name; give each a `name`, or a `source` and a `target`, or leave it out")
    kind = given.get("type", "").lower()
    if "text" in given or not (kind or aliases):
        yield check_decision(place, **signed, action="add", names=names[:1], type=kind, **written)
    elif kind:
        yield check_decision(place, **signed, action="retype", names=names[:1], type=kind)
    if len(names) > 1:
        yield check_decision(place, **signed, action="merge", names=names, into=names[0])


def _facts(placed: Sequence[tuple[str, Row]]) -> Facts:
    rows, stated = dict[str, dict[str, Any]](), dict[str, dict[str, str]]()
    typed = dict[tuple[str, str], tuple[str, str]]()
    for place, row in placed:
        name = str(row.get("relation", "")).replace("|", "/")
        end = "object" if "object" in row else "value"
        first = {"subject": "subject", "relation": " ".join(name.split()), end: f"fact {folded(name)}"}
        said = stated.setdefault(folded(name), first | {one: one for one in _DAYS})
        for role in filter(row.__contains__, _TYPES):
            kind = str(row[role])
            before, where = typed.setdefault((folded(name), role), (kind, place))
            said[role] = min(kind, said.get(role, kind))
            if folded(kind) != folded(before):
                raise DecisionError(
                    f"{place} has the {role} {kind!r}, and {where} {before!r}; a relation has one type at each end: "
                    "give both rows the same, or relations of two names"
                )
        if not folded(name) or end not in said or ("object" in row) == ("value" in row):
            raise DecisionError(
                f"{place} has a subject; give it a `relation`, and an `object` or a `value`, as its other rows have"
            )
        value = row[end]
        if end == "value" and "unit" in row and not (_number(str(value)) or (0, ""))[1]:
            value = f"{with_sign(value, None)} {row['unit']}"
        one = {"subject": row["subject"], said[end]: value, **{day: row.get(day) for day in _DAYS}}
        rows[json.dumps(one, default=str)] = one
    for said in stated.values():
        if column := said.get("value"):
            said["kind"] = _kind([str(row[column]) for row in rows.values() if column in row])
    columns = {f"fact {name}": None for name in stated}
    ids = _ids_of(rows)
    made = ({"id": ids[text]} | columns | row for text, row in rows.items())
    return [*map(as_text, made)], [*stated.values()]


def _ids_of(rows: Mapping[str, Row]) -> dict[str, str]:
    """Return an id for each row, by its text, that stays where its object, value or end is corrected."""
    ids, alike = dict[str, str](), Counter[str]()
    for text, row in sorted(rows.items()):
        column = next(one for one in row if one not in ("subject", *_DAYS))
        stays = json.dumps([row["subject"], column, row["valid_from"]], default=str)
        alike[stays] += 1
        ids[text] = digest(stays, str(alike[stays]))
    return ids


def _kind(values: Sequence[str]) -> str:
    """Return the kind of value that all of some texts are."""
    readers: dict[str, Callable[[str], object]] = {"number": _number, "date": read_date, "yes/no": read_yes_no}
    return next((kind for kind, read in readers.items() if all(read(one) is not None for one in values)), "text")


def _number(words: str) -> tuple[float, str] | None:
    return read_number(words) or read_number(words, ".")  # of doubts the columns tell


def _custom_graph(file: Path) -> tuple[StoredBase | None, list[tuple[str, Row]]]:
    """Read what `insert_custom_kg` takes: chunks with the rows that name them, and the other rows with their places."""
    held = json.loads(file.read_bytes())
    lists = [held.get(kind) or [] for kind in _KINDS] if isinstance(held, dict) else []
    if not any(lists) or not all(isinstance(row, dict) for rows in lists for row in rows):
        raise ValueError(
            f"it has no lists {', '.join(_KINDS)} of objects; a file with an object a line is named .jsonl"
        )
    placed = dict[str, list[tuple[str, dict[str, Any]]]]()
    for kind, rows in zip(_KINDS, lists, strict=True):
        places = [f"{file.name}: {kind} {number}" for number in range(1, len(rows) + 1)]
        placed[kind] = [(place, _named(row, place, _OF_CHUNKS)) for place, row in zip(places, rows, strict=True)]
    chunks = [row | {"content": str(row.get("content", ""))} for _, row in placed.pop("chunks")]
    by_text = sorted(chunks, key=lambda row: row["content"])  # not by the order of rows
    texts = {str(row["source_id"]): key_of(row["content"]) for row in by_text if "source_id" in row}
    of_text = {key_of(row["content"]): list[list[str]]() for row in chunks}
    left = list[tuple[str, Row]]()
    for kind, others in placed.items():
        for place, row in others:
            if text := texts.get(str(row.get("source_id"))):
                of_text[text].append(_fields(row, kind, place))
            else:
                left.append((place, row))

    def documents() -> Iterator[StoredDocument]:
        keys = [tuple(str(row.get(one)) for one in ("source_id", "file_path", "content")) for row in chunks]
        several = Counter(key[:2] for key in {*keys})
        for number, (key, row) in enumerate(zip(keys, chunks, strict=True)):
            identity = digest(*key[: 3 if several[key[:2]] > 1 else 2])  # of one alone also when its text is corrected
            yield StoredDocument(identity, str(row.get("file_path", row.get("source_id", number))), row["content"])

    answers = {text: answers_of(sorted(rows)) for text, rows in of_text.items() if rows or text != key_of("")}
    return StoredBase(TABLE, "a table", documents, answers) if chunks else None, left


def _fields(row: Row, kind: str, place: str) -> list[str]:
    """Return the fields of an entity or relation in an answer."""
    names = [str(row.get(name, "")) for name in (("name",) if kind == "entities" else ("source", "target"))]
    text = str(row.get("text", ", ".join(names)))
    weight = _weight(str(row.get("weight", 1)))
    if not all(map(str.strip, names)) or not (weight == 0 or _LEAST_WEIGHT <= weight < _WEIGHT_BELOW):
        allowed = f"a weight of 0, or from {_LEAST_WEIGHT:.9f} to {_WEIGHT_BELOW:,}"
        raise DecisionError(f"{place} lacks a name or {allowed}; give it both, or leave it out")
    if kind == "entities":
        return ["entity", *names, str(row.get("type", "other")), text]
    # With a strength, the description is the field that ends as a sentence does.
    ending = [] if weight == 1 else [f"{abs(weight):.9f}".rstrip("0").rstrip(".")]
    return ["relation", *names, str(row.get("keywords", "")), f"{text.rstrip('.')}." if ending else text, *ending]


def _weight(text: str) -> float:
    """Return the number in a text, or that of its words as of a strength; NaN if there is none."""
    try:
        return float(text)
    except ValueError:
        found = strength(text)
        return math.nan if found is None else found
