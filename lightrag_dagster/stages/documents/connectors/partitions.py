"""The documents of a partitioned upstream asset: each partition has a place of its own, and a version."""

import errno
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core.identity import digest
from lightrag_dagster.errors import SourceError, one_line
from lightrag_dagster.settings import SourceSettings
from lightrag_dagster.settings.sources import PARTITION
from lightrag_dagster.stages.documents.connectors.factory import choose_origin
from lightrag_dagster.stages.documents.connectors.folder import LocalFolder
from lightrag_dagster.stages.documents.connectors.origin import (
    EPOCH,
    UNFIT_CHARACTERS,
    Incremental,
    ListedFile,
    Origin,
    at_last,
)
from lightrag_dagster.stages.documents.connectors.rows import RowDocuments
from lightrag_dagster.stages.documents.connectors.tables import DuckDBQuery, TableFiles
from lightrag_dagster.stages.documents.connectors.web import Web

_log = logging.getLogger(__name__)
_OF_PARTITION = "partition "
_NOT_A_DOCUMENT = ".partition"  # a suffix of no format, so that the row of an unreadable partition is `skipped`
_MOST_BROKEN = 10  # partitions that are there and cannot be read; after so many the fault is of their place
_UNFIT_IN_PATHS = re.compile(rf"{UNFIT_CHARACTERS.pattern}|[/%]")
_UNFIT_IN_URIS = re.compile(rf"{UNFIT_CHARACTERS.pattern}|[*?\[\]%#\\]|::|^~|(^|/)(\.|/|$)")
"""Parts by which a key would lead elsewhere: wildcards, escapes, further file systems, folders above, hidden ones."""


@dataclass(frozen=True)
class Partitioned(Incremental):
    """The documents of all partitions of an upstream asset; the path of each begins with its partition.

    `versions` is partition → version, as Dagster last had them; None if it was never asked.
    """

    source: str
    settings: SourceSettings
    versions: Mapping[str, str] | None

    @property
    def name(self) -> str:
        """See `Origin.name`."""
        return re.sub(r"^\$", "the database of ", self.settings.uri)

    @property
    def at_once(self) -> int:
        """See `Origin.at_once`."""
        return self._at(dict.fromkeys(self.settings.dimensions, "any")).at_once

    def files(self) -> Iterator[ListedFile]:
        """See `Origin.files`."""
        yield from self.of_partitions(self._known, {})

    def read(self, listed: ListedFile, most: int) -> bytes:
        """See `Origin.read`."""
        if listed.content is not None:
            return listed.content[:most]
        if not listed.place:
            raise OSError(errno.ENOENT, "its partition cannot be read; the row of the partition says why")
        partition = unquote(listed.path.partition("/")[0], errors="surrogatepass")
        last = self.__dict__.get("_last")  # with its connection, since documents are read partition by partition
        if last is None or last[0] != partition:
            last = self.__dict__["_last"] = partition, self._of(partition)
        origin: Origin = last[1]
        return origin.read(listed, most)

    def since(self, before: Mapping[str, str]) -> "ChangedPartitions":
        """See `Incremental.since`."""
        return ChangedPartitions(self, before)

    @cached_property
    def state(self) -> dict[str, str]:
        """The settings and every partition's version, of which a listing is made; raises SourceError."""
        access = {"access": digest([*self.settings.access.items()])} if self.settings.access else {}
        known = {f"{_OF_PARTITION}{key}": version for key, version in self._known.items()}
        return {"settings": digest(*self.settings.said), **access, **known}

    def of_partitions(self, partitions: Iterable[str], unread: dict[str, str]) -> Iterator[ListedFile]:
        """Yield the documents of some partitions, and a refused one in place of each that cannot be read.

        These are added to `unread`, with the reason. Raises OSError when no partition of all can be read, or too many.
        """
        missing = 0
        with ExitStack() as kept:
            for partition in partitions:
                try:
                    origin = self._of(partition)
                    if isinstance(origin, RowDocuments) and isinstance(origin.table, DuckDBQuery):
                        connection = origin.table.open()
                        kept.close()  # after the next is open, so that the file of several stays open
                        kept.enter_context(connection)
                    folder = folder_of(partition)  # all of it or nothing
                    yield from at_last(replace(one, path=f"{folder}/{one.path}") for one in origin.files())
                except SourceError:
                    raise
                except (Exception, SystemExit) as error:  # of any library; it costs itself alone
                    reason = getattr(error, "strerror", None) or one_line(error) or type(error).__name__
                    unread[partition] = f"partition {partition!r}: {reason}"
                    missing += isinstance(error.__cause__ or error, FileNotFoundError)
                    if len(unread) - missing > _MOST_BROKEN:
                        break
                    yield _unreadable(partition, unread[partition])
        if unread and (len(unread) == len(self._known) or len(unread) - missing > _MOST_BROKEN):
            raise OSError(errno.EIO, _named(unread))
        if unread:
            _log.warning("source %s: %s; the documents read before stay", self.source, _named(unread))

    @property
    def _known(self) -> Mapping[str, str]:
        if self.versions is None:
            raise SourceError(
                f"source {self.source!r} reads the partitions of the Dagster asset {self.settings.asset}, and none is "
                "known yet; set DAGSTER_HOME to the instance that materialises it, and run again"
            )
        return self.versions

    def _of(self, partition: str) -> Origin:
        """Return the place of one partition; raises OSError if its key or a link may lead elsewhere."""
        values = self._values(partition)
        place = PARTITION.search(self.settings.uri)
        if place and any(map(_UNFIT_IN_URIS.search, values.values())):
            raise OSError(
                errno.EINVAL,
                "its key cannot be a part of a uri, since it may lead elsewhere; rename it, or read it by rows.query",
            )
        origin = self._at(values)
        if place and (root := _root(origin)):
            above = self.settings.uri[: place.start()].rpartition("/")
            whole = self.settings.model_copy(update={"uri": "".join(above[:2]) or ".", "rows": None})
            inside = (_root(choose_origin(self.source, whole)) or root).resolve()
            if not root.resolve().is_relative_to(inside):
                raise OSError(errno.EPERM, "symbolic link that leads out of the source")
        return origin

    def _at(self, values: Mapping[str, str]) -> Origin:
        """Return the place of the partition of these values."""
        uri = PARTITION.sub(lambda found: values[found[1] or ""], self.settings.uri)
        origin = choose_origin(self.source, self.settings.model_copy(update={"uri": uri}), values)
        # Else the documents of a file that is missing would count as removed.
        return replace(origin, required=True) if isinstance(origin, Web) else origin

    def _values(self, partition: str) -> dict[str, str]:
        """Return the values of a partition by dimension; Dagster joins them by bars, in order of the names of these."""
        names = sorted(self.settings.dimensions)
        values = [partition] if names == [""] else partition.split("|")
        if len(values) != len(names):
            raise SourceError(
                f"source {self.source!r} names the dimensions {', '.join(names)}, and partition {partition!r} of "
                f"{self.settings.asset} has {len(values)}; name all of them, or write {{partition}}"
            )
        return dict(zip(names, values, strict=True))


def _root(origin: Origin) -> Path | None:
    """Return the folder or file of this machine that a place is."""
    match origin:
        case LocalFolder(root=root) | RowDocuments(table=TableFiles(place=LocalFolder(root=root))):
            return root
        case RowDocuments(table=DuckDBQuery(file=file)):
            return file
    return None


def _unreadable(partition: str, reason: str) -> ListedFile:
    """Return a skipped document, which says why a partition cannot be read."""
    return ListedFile(folder_of(partition), "", 0, EPOCH, "", False, f"{reason}; try again", _NOT_A_DOCUMENT)


def _named(unread: Mapping[str, str]) -> str:
    """Return the reason of the first partition that cannot be read, and the number of others."""
    first, *others = unread
    more = f"; {len(others):,} more cannot be read, such as {others[0]!r}" if others else ""
    return unread[first] + more


class ChangedPartitions:
    """A listing of the partitions whose version is another than in an earlier one; see `Since`.

    In `state`, the version of one that cannot be read is empty, so that the next listing tries it again.
    """

    def __init__(self, origin: Partitioned, before: Mapping[str, str]) -> None:
        earlier = partitions_of(before) if before.get("settings") == origin.state["settings"] else {}
        self.state = dict(origin.state)
        self.origin, now = origin, partitions_of(origin.state)
        self._changed = [key for key, version in now.items() if earlier.get(key) != version]
        self._same = _folders(now.keys() - set(self._changed))
        self._missed = _folders(())

    def files(self) -> Iterator[ListedFile]:
        """See `Since.files`."""
        unread = dict[str, str]()
        yield from self.origin.of_partitions(self._changed, unread)
        self.state |= {f"{_OF_PARTITION}{key}": "" for key in unread}
        self._missed = _folders(unread)

    def keeps(self, paths: pa.Array) -> pa.Array:
        """See `Since.keeps`."""
        return _are_in(self._same, paths)

    def misses(self, paths: pa.Array) -> pa.Array:
        """Return for each path True if its document may be there and cannot be listed now, when `files` has ended."""
        return _are_in(self._missed, paths)


def _folders(partitions: Iterable[str]) -> pa.Array:
    return pa.array(map(folder_of, partitions), pa.string())


def _are_in(folders: pa.Array, paths: pa.Array) -> pa.Array:
    return pc.is_in(pc.struct_field(pc.extract_regex(paths, r"^(?P<folder>[^/]*)/"), "folder"), folders)


def partitions_of(state: Mapping[str, str]) -> dict[str, str]:
    """Return partition → version of the state of a listing."""
    return {key.removeprefix(_OF_PARTITION): one for key, one in state.items() if key.startswith(_OF_PARTITION)}


def folder_of(partition: str) -> str:
    """Return the first part of the paths of a partition's documents: no other partition has it."""
    return _UNFIT_IN_PATHS.sub(lambda found: quote(found[0], safe="", errors="surrogatepass"), partition)
