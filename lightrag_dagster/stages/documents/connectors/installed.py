"""Documents of a place that another installed package knows; docs/extending.md says how to write one."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from lightrag_dagster.core.installed import installed
from lightrag_dagster.stages.documents.connectors.origin import ListedFile, Origin, shown, unusable
from lightrag_dagster.stages.documents.connectors.patterns import Patterns

_GROUP = "lightrag_dagster.sources"


def is_installed(scheme: str) -> bool:
    """Say whether a package brings a kind of source for a scheme of URIs."""
    return bool(scheme) and scheme in installed(_GROUP)


@dataclass(frozen=True)
class InstalledSource:
    """The documents of a URI by the function of a package, which is called with the first listing or reading."""

    uri: str
    patterns: Patterns

    @property
    def at_once(self) -> int:
        """See `Origin.at_once`; 1 where the package does not say."""
        return getattr(self._opened, "at_once", 1)

    @property
    def name(self) -> str:
        """See `Origin.name`."""
        return self.uri

    def files(self) -> Iterator[ListedFile]:
        """See `Origin.files`; raises any error of the package."""
        for one in self._opened.files():
            if not one.stamp:
                raise ValueError(f"{one.path!r} has no stamp, so that no change of it would be seen")
            if self.patterns.match(one.path):
                yield replace(one, path=shown(one.path), refused=one.refused or unusable(one.file_name))

    def read(self, listed: ListedFile, most: int) -> bytes:
        """See `Origin.read`; raises any error of the package."""
        return memoryview(self._opened.read(listed, most))[:most].tobytes()

    def __reduce__(self) -> tuple[type["InstalledSource"], tuple[str, Patterns]]:
        """Leave the connection behind."""
        return InstalledSource, (self.uri, self.patterns)

    @cached_property
    def _opened(self) -> Origin:
        opened: Origin = installed(_GROUP)[self.uri.partition("://")[0].lower()].load()(self.uri)
        return opened
