"""The changes that are measured, after all passages were indexed: each a change of documents, one after the other."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.bench.corpus import edited, passage

ADD, EDIT, DELETE, NOTHING = "add 1%", "edit one", "delete one", "nothing changed"
CHANGES = (ADD, EDIT, DELETE, NOTHING)
INDEX = "index"


@dataclass(frozen=True)
class Change:
    """Documents to take away, and then documents to put in place, by name."""

    operation: str
    deleted: tuple[str, ...]
    inserted: Mapping[str, str]


def index(count: int) -> Change:
    """Return the insertion of the first `count` passages."""
    return Change(INDEX, (), {one.name: one.text for one in map(passage, range(count))})


def changes(count: int, operations: Sequence[str] = CHANGES) -> Iterator[Change]:
    """Yield these changes of the first `count` passages, in their order.

    An edit takes the old text away and puts the new one in place. When nothing changes, all documents are put in place
    again, as they are.

    Raises:
        ValueError: there is no such operation.
    """
    documents = dict(index(count).inserted)
    for operation in operations:
        change = _change(operation, count, documents)
        for name in change.deleted:
            del documents[name]
        documents |= change.inserted
        yield change


def documents_after(count: int, operations: Sequence[str] = CHANGES) -> set[str]:
    """Return the names of the documents that there are after these changes of the first `count` passages."""
    names = set(index(count).inserted)
    for change in changes(count, operations):
        names = names.difference(change.deleted).union(change.inserted)
    return names


def passages_needed(count: int) -> int:
    """Return how many passages there are when those were added that a change of `count` adds."""
    return count + max(1, count // 100)


def _change(operation: str, count: int, documents: Mapping[str, str]) -> Change:
    if operation == ADD:
        added = map(passage, range(count, passages_needed(count)))
        return Change(operation, (), {one.name: one.text for one in added})
    if operation == EDIT:
        one = edited(count // 2)
        return Change(operation, (one.name,), {one.name: one.text})
    if operation == DELETE:
        return Change(operation, (passage(count // 3).name,), {})
    if operation == NOTHING:
        return Change(operation, (), dict(documents))
    raise ValueError(f"no operation {operation!r}; there are {', '.join(CHANGES)}")
