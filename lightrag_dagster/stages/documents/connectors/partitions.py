"""The documents of a partitioned upstream asset: each partition has a place of its own, and a version."""

import errno
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core.identity import digest
from lightrag_dagster.errors import SourceError
from lightrag_dagster.settings import SourceSettings
from lightrag_dagster.settings.sources import PARTITION
from lightrag_dagster.stages.documents.connectors.bucket import Bucket
from lightrag_dagster.stages.documents.connectors.factory import choose_origin
from lightrag_dagster.stages.documents.connectors.origin import UNFIT_CHARACTERS, Incremental, ListedFile, Origin
from lightrag_dagster.stages.documents.connectors.rows import RowDocuments
from lightrag_dagster.stages.documents.connectors.tables import DuckDBQuery
from lightrag_dagster.stages.documents.connectors.web import Web

_OF_PARTITION = "partition "
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
        return self.settings.uri or f"the database of {self.settings.rows and self.settings.rows.database_variable}"

    @property
    def at_once(self) -> int:
        """See `Origin.at_once`."""
        return min((self._of(partition).at_once for partition in list(self.versions or ())[:1]), default=1)

    def files(self) -> Iterator[ListedFile]:
        """See `Origin.files`."""
        yield from self.of_partitions(self._known)

    def read(self, listed: ListedFile, most: int) -> bytes:
        """See `Origin.read`."""
        if listed.content is not None:
            return listed.content[:most]
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
        settings = digest(self.settings.model_dump(mode="json", exclude_defaults=True))
        return {"settings": settings} | {f"{_OF_PARTITION}{key}": version for key, version in self._known.items()}

    def of_partitions(self, partitions: Iterable[str]) -> Iterator[ListedFile]:
        """Yield the documents of some partitions; raises as `files`, with the number of those that are missing."""
        missing: dict[str, str] = {}
        with ExitStack() as kept:
            for partition in partitions:
                origin, folder = self._of(partition), folder_of(partition)
                try:
                    if isinstance(origin, RowDocuments) and isinstance(origin.table, DuckDBQuery):
                        connection = origin.table.open()
                        kept.close()  # after the next is open, so that the file of several stays open
                        kept.enter_context(connection)
                    for one in origin.files():
                        if missing:
                            break  # the others are only counted
                        yield replace(one, path=f"{folder}/{one.path}")
                except FileNotFoundError as error:
                    missing[partition] = error.strerror or str(error)
                except OSError as error:
                    raise OSError(error.errno, f"partition {partition!r}: {error.strerror or error}") from error
        if missing:
            raise FileNotFoundError(errno.ENOENT, _named(missing))

    @property
    def _known(self) -> Mapping[str, str]:
        if self.versions is None:
            raise SourceError(
                f"source {self.source!r} reads the partitions of the Dagster asset {self.settings.asset}, and none is "
                "known yet; set DAGSTER_HOME to the instance that materialises it, and run again"
            )
        return self.versions

    def _of(self, partition: str) -> Origin:
        """Return the place of one partition; raises SourceError if its key does not fit."""
        settings, values = self.settings, self._values(partition)
        if PARTITION.search(settings.uri):
            for value in values.values():
                if _UNFIT_IN_URIS.search(value):
                    raise SourceError(
                        f"source {self.source!r}: partition {partition!r} cannot be a part of a uri, since it may lead "
                        "elsewhere; rename it, or read it by rows.query"
                    )
            uri = PARTITION.sub(lambda found: values[found[1] or ""], settings.uri)
            settings = settings.model_copy(update={"uri": uri})
        origin = choose_origin(self.source, settings, values)
        # Else the documents of a file that is missing would count as removed.
        return replace(origin, required=True) if isinstance(origin, Bucket | Web) else origin

    def _values(self, partition: str) -> dict[str, str]:
        """Return name → value of what stands for a partition; Dagster joins dimensions by bars, in order of name."""
        names = sorted(self.settings.dimensions)
        values = [partition] if names == [""] else partition.split("|")
        if len(values) != len(names):
            raise SourceError(
                f"source {self.source!r} names the dimensions {', '.join(names)}, and partition {partition!r} of "
                f"{self.settings.asset} has {len(values)}; name all of them, or write {{partition}}"
            )
        return dict(zip(names, values, strict=True))


def _named(missing: Mapping[str, str]) -> str:
    """Return the reason of the first partition that is missing, and the number of others."""
    first, *others = missing
    reason = f"partition {first!r}: {missing[first]}"
    if not others:
        return reason
    if len(others) == 1:
        return f"{reason}; 1 more partition is missing: {others[0]!r}"
    return f"{reason}; {len(others):,} more partitions are missing, such as {others[0]!r}"


class ChangedPartitions:
    """A listing of the partitions whose version is another than in an earlier one; see `Since`."""

    def __init__(self, origin: Partitioned, before: Mapping[str, str]) -> None:
        earlier = partitions_of(before) if before.get("settings") == origin.state["settings"] else {}
        self.state = origin.state
        self._origin, now = origin, partitions_of(origin.state)
        self._changed = [key for key, version in now.items() if earlier.get(key) != version]
        self._same = pa.array([folder_of(key) for key in now.keys() - set(self._changed)], pa.string())

    def files(self) -> Iterator[ListedFile]:
        """See `Since.files`."""
        yield from self._origin.of_partitions(self._changed)

    def keeps(self, paths: pa.Array) -> pa.Array:
        """See `Since.keeps`."""
        folders = pc.struct_field(pc.extract_regex(paths, r"^(?P<folder>[^/]*)/"), "folder")
        return pc.is_in(folders, self._same)


def partitions_of(state: Mapping[str, str]) -> dict[str, str]:
    """Return partition → version of the state of a listing."""
    return {key.removeprefix(_OF_PARTITION): one for key, one in state.items() if key.startswith(_OF_PARTITION)}


def folder_of(partition: str) -> str:
    """Return the first part of the paths of a partition's documents: no other partition has it."""
    return _UNFIT_IN_PATHS.sub(lambda found: quote(found[0], safe="", errors="surrogatepass"), partition)
