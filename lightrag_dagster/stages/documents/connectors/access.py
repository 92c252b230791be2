"""Access values of documents: by the settings of a source, a column of its table or a file beside each document.

Nothing that a document says of itself gets here.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from string import Formatter

from lightrag_dagster.core.globs import matches
from lightrag_dagster.core.identity import digest
from lightrag_dagster.core.text.composed import composed
from lightrag_dagster.settings.sources import SIDECAR, SIDECAR_SUFFIX, asks_beside, columns_in
from lightrag_dagster.stages.documents.connectors.origin import ListedFile, at_last, warn_once

MOST = 10_000
"""The most bytes of a file beside a document."""

NO_ACCESS = "no access value: the file beside it "
UNREAD = f"{NO_ACCESS}cannot be read"
"""The beginning of the reason for missing values, and that of one that may pass."""

Cell = str | Sequence[str]
"""A text of values with commas between them, or a list of values, of which none is cut at its commas."""

_REFUSED = "is refused: it leads out of the source, or is not a regular file"


def access_of(access: Mapping[str, str], path: str, cell_of: Callable[[str], Cell]) -> tuple[str, ...]:
    """Return the values of the first template whose glob matches a path; `cell_of` returns what a column has."""
    return _filled(_template(access, path), cell_of)


def access_of_missed(access: Mapping[str, str], path: str, before: Sequence[str] | None) -> Sequence[str] | None:
    """Return the values of a document that cannot be listed: those of the settings, else those that it had `before`."""
    template = _template(access, path)
    return before if columns_in(template) else _filled(template, str)


def with_access(
    source: str, access: Mapping[str, str], files: Iterator[ListedFile], *, below: int
) -> Iterator[ListedFile]:
    """Yield files with the access values that the settings of a source say; a change of these changes the stamp.

    If some are in files beside the documents, these are not yielded, and all is listed before the first. Globs are of
    the path without its first `below` parts.
    """
    beside = dict[str, ListedFile]()
    if asks_beside(access):
        files = at_last(_without_sidecars(files, beside))
    for one in files:
        template = _template(access, one.path.split("/", below)[-1])
        found = beside.pop(one.path + SIDECAR_SUFFIX, None) if SIDECAR in columns_in(template) else None
        facts = (f"{found.size}", found.stamp, found.refused or "") if found else ()
        yield replace(
            one,
            stamp=f"{one.stamp} {digest(template, *facts)}" if template else one.stamp,
            stamp_is_stable=one.stamp_is_stable and (found is None or found.stamp_is_stable),
            access=(template,) if found else _filled(template, lambda _: ""),
            sidecar=("" if found.refused else found.place) if found else None,
        )
    if beside:
        warn_once(f"source {source}: {len(beside)} files, such as {min(beside)}, are beside no document")


def sidecar_of(listed: ListedFile) -> ListedFile:
    """Return the file beside a document that says who may see it."""
    path, refused = listed.path + SIDECAR_SUFFIX, None if listed.sidecar else _REFUSED
    return ListedFile(path, listed.sidecar or "", MOST, listed.modified_at, listed.stamp, False, refused)


def read_access(template: str, sidecar: ListedFile, data: bytes | OSError) -> tuple[tuple[str, ...], str | None]:
    """Return the values of a template with the bytes of a file beside a document, and the reason for missing ones."""
    if sidecar.refused:
        return (), NO_ACCESS + sidecar.refused
    if isinstance(data, OSError):
        return (), f"{UNREAD}: {data.strerror or type(data).__name__}"
    if len(data) > MOST:
        return (), f"{NO_ACCESS}is longer than {MOST:,} bytes"
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return (), f"{NO_ACCESS}is not UTF-8"
    return _filled(template, lambda _: ",".join(text.splitlines())), None


def _without_sidecars(files: Iterator[ListedFile], beside: dict[str, ListedFile]) -> Iterator[ListedFile]:
    for one in files:
        if one.path.endswith(SIDECAR_SUFFIX):
            beside[one.path] = one
        else:
            yield one


def _template(access: Mapping[str, str], path: str) -> str:
    return next((template for glob, template in access.items() if matches(path, glob)), "")


def _filled(template: str, cell_of: Callable[[str], Cell]) -> tuple[str, ...]:
    """Return the values of a template, commas between them: one for each value of a column, none for an empty one."""
    found = []
    for part in template.split(","):
        places = list(Formatter().parse(part))
        for values in product(*[_values(cell_of(column)) for _, column, _, _ in places if column is not None]):
            left = iter(values)
            found += _values(["".join(text + ("" if column is None else next(left)) for text, column, _, _ in places)])
    return tuple(dict.fromkeys(found))


def _values(cell: Cell) -> list[str]:
    return [value for one in (cell.split(",") if isinstance(cell, str) else cell) if (value := composed(one).strip())]
