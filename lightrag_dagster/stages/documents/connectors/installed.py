"""Documents of a place that another installed package knows; docs/extending.md says how to write one."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from lightrag_dagster.core.installed import installed
from lightrag_dagster.stages.documents.connectors.origin import ByURI, ListedFile, Origin, shown, unusable
from lightrag_dagster.stages.documents.connectors.patterns import Patterns

_GROUP = "lightrag_dagster.sources"


def is_installed(scheme: str) -> bool:
    """Say whether a package brings a kind of source for a scheme of URIs."""
    return bool(scheme) and scheme in installed(_GROUP)


@dataclass(frozen=True)
class InstalledSource(ByURI):
    """The documents of a URI by the function of a package, which is called once in each process."""

    patterns: Patterns

    @property
    def at_once(self) -> int:
        """See `Origin.at_once`; 1 where the package does not say."""
        return getattr(_opened(self.uri), "at_once", 1)

    def files(self) -> Iterator[ListedFile]:
        """See `Origin.files`; raises any error of the package."""
        for one in _opened(self.uri).files():
            if not one.stamp:
                raise ValueError(f"{one.path!r} has no stamp, so that no change of it would be seen")
            if self.patterns.match(one.path):
                refused = one.refused or unusable(one.path)
                yield replace(one, path=shown(one.path), refused=refused, access=None, sidecar=None)

    def read(self, listed: ListedFile, most: int) -> bytes:
        """See `Origin.read`; raises any error of the package."""
        return memoryview(_opened(self.uri).read(listed, most))[:most].tobytes()


@cache
def _opened(uri: str) -> Origin:
    opened: Origin = installed(_GROUP)[uri.partition("://")[0].lower()].call(uri)
    return opened
