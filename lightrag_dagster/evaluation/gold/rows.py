"""Gold rows: what stands in some passages, as people say, in CSV files that are edited in a spreadsheet.

A passage is a row with its text, and after it come the entities, relations and facts that stand in it. It counts once
its verdict is `done`. Rows `names` are of no passage: they say of two names if they are one.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from lightrag_dagster.core.identity import digest, name_key
from lightrag_dagster.core.text.names import normalise_name
from lightrag_dagster.core.text.sheets import files_of, read_sheet, read_text
from lightrag_dagster.errors import SettingsError

COLUMNS = ("chunk", "kind", "name", "other", "type", "relation", "value", "verdict", "text")
"""Columns of a file. `other` is the second name, `value` that of a fact, `text` that of a passage."""

_NEEDED: dict[str, tuple[str, ...]] = {
    "passage": ("chunk",),
    "entity": ("chunk", "name"),
    "relation": ("chunk", "name", "other"),
    "fact": ("chunk", "name", "relation"),
    "names": ("name", "other"),
}
"""The cells that a row of each kind needs."""

_VERDICTS = {"": True, "yes": True, "true": True, "no": False, "false": False}
_DONE = {"": False, "done": True}


class GoldRow(NamedTuple):
    """A row of a file; `right` says if the passage states it, of a passage if all its rows were looked at."""

    chunk: str
    kind: str
    name: str
    other: str
    type: str
    relation: str
    value: str
    right: bool
    place: str


class Gold(NamedTuple):
    """The rows of all files that are about passages that are done, and those about names.

    `passages` are those that are done, each with the kinds that its files label: of another kind nothing is known
    there. `open` are the others.
    """

    rows: list[GoldRow]
    passages: dict[str, set[str]]
    open: set[str]
    names: list[GoldRow]


def read_gold(folder: Path | None, *, warns: bool = True) -> Gold:
    """Read all CSV files of a folder that are not hidden, or one; without one, nothing. It `warns` of their encoding.

    Raises:
        SettingsError: there is no such folder, a row cannot be read, or two contradict each other; the message names
            file and line.
    """
    if folder is None:
        return Gold([], {}, set(), [])
    if not folder.exists():
        raise SettingsError(f"there is no gold file or folder {folder}; `lightrag-dagster gold draft FILE` writes one")
    files = files_of(folder, ".csv", ".tsv", deep=True) if folder.is_dir() else [folder]
    found, passages, unfinished = list[GoldRow](), dict[str, set[str]](), set[str]()
    for file in files:
        rows = list(_read(file, str(file.relative_to(folder)) if file != folder else file.name, warns))
        named = {one.chunk for one in rows if one.kind == "passage"}
        if lost := [one for one in rows if one.chunk and one.chunk not in named]:
            said = f"{lost[0].place}: there is no passage {lost[0].chunk!r} in the file"
            raise SettingsError(f"{said}; copy the cell `chunk` from the passage's row")
        done = {one.chunk for one in rows if one.kind == "passage" and one.right}
        unfinished |= {one.chunk for one in rows if one.chunk and one.chunk not in done}
        kept = [one for one in rows if one.kind != "passage" and (one.chunk in done or one.kind == "names")]
        kinds = {one.kind for one in kept if one.kind != "names"}
        for chunk in done:
            passages.setdefault(chunk, set()).update(kinds)
        found += kept
    _require_agreement(found)
    about = [one for one in found if one.kind != "names"]
    return Gold(about, passages, unfinished - passages.keys(), [one for one in found if one.kind == "names"])


def require_passages(gold: Gold, place: Path | None) -> None:
    """Raise SettingsError, with the next step, if no passage of the gold that was read at a place is done."""
    if gold.passages:
        return
    if place is None:
        raise SettingsError("gold.folder is not set; `lightrag-dagster gold draft FILE` writes a file to name there")
    if not gold.open:
        raise SettingsError(f"no .csv or .tsv in {place} has a passage; `lightrag-dagster gold draft` draws some")
    raise SettingsError(
        f"none of the {len(gold.open):,} passages in {place} is done; write `done` as the verdict of those you read"
    )


def gold_inputs(snapshot_id: str, gold: Gold) -> dict[str, str]:
    """Return the inputs of a table of scores: the snapshot, and a hash of the gold rows."""
    return {"knowledge_base": snapshot_id, "gold": digest([one[:-1] for one in gold.rows], sorted(gold.passages))}


def _require_agreement(rows: Iterable[GoldRow]) -> None:
    """Raise SettingsError if one row says yes and another one no, or two give one name two types."""
    said = dict[object, GoldRow]()
    for one in rows:
        ends = sorted(map(name_key, (one.name, one.other))) if one.kind != "fact" else [one.name, one.other]
        rest = [name_key(each) for each in (one.type, one.relation, one.value)]
        other = said.setdefault((one.chunk if one.kind != "names" else "", one.kind, *ends, *rest), one)
        if other.right != one.right:
            raise SettingsError(f"{one.place}: the verdict is not that of the same row at {other.place}; keep one")
        typed = said.setdefault((one.chunk, one.kind, name_key(one.name)), one) if one.type and one.right else one
        if name_key(typed.type) != name_key(one.type):
            raise SettingsError(f"{one.place}: the type is not that of the same name at {typed.place}; keep one")


def _read(file: Path, name: str, warns: bool) -> Iterator[GoldRow]:
    text = read_text(file, SettingsError, "cp1252", warns=warns)
    for place, cells in read_sheet(text, name, ("chunk", "kind", "verdict"), SettingsError):
        kind = cells.get("kind", "").lower()
        if kind not in _NEEDED:
            raise SettingsError(f"{place}: the kind is {kind!r}; write one of {', '.join(_NEEDED)}")
        if missing := [column for column in _NEEDED[kind] if not cells.get(column)]:
            raise SettingsError(f"{place}: a row of the kind {kind} has no {missing[0]!r}; fill it in")
        if kind == "fact" and not (cells.get("other") or cells.get("value")):
            raise SettingsError(f"{place}: a row of the kind fact has neither 'other' nor 'value'; fill one in")
        verdicts = _DONE if kind == "passage" else _VERDICTS
        verdict = cells.get("verdict", "").lower()
        if verdict not in verdicts:
            known = ", ".join(filter(None, verdicts))
            raise SettingsError(f"{place}: the verdict is {verdict!r}; write one of {known}, or nothing")
        texts = {column: cells.get(column, "") for column in COLUMNS[2:7]}
        texts |= {end: normalise_name(texts[end]) or texts[end] for end in ("name", "other")}  # as in an answer
        yield GoldRow(cells.get("chunk", ""), kind, **texts, right=verdicts[verdict], place=place)
