"""Documents of a place that another installed package knows; docs/extending.md says how to write one."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from numbers import Integral

from lightrag_dagster.core.installed import Installed, installed
from lightrag_dagster.stages.documents.connectors.origin import ByURI, ListedFile, Origin, shown, unusable
from lightrag_dagster.stages.documents.connectors.patterns import Patterns

_GROUP = "lightrag_dagster.sources"
_KINDS = {
    "path": str,
    "place": str,
    "size": Integral,
    "modified_at": datetime,
    "stamp": str,
    "stamp_is_stable": bool,
    "refused": str | None,
    "kind": str,
    "content": bytes | None,
}


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
        return int(getattr(_opened(self.uri)[1], "at_once", 1))

    def files(self) -> Iterator[ListedFile]:
        """See `Origin.files`; raises InstalledError."""
        point, opened = _opened(self.uri)
        with point.named():
            if self.at_once < 1:
                raise ValueError(f"at_once is {self.at_once}, below 1")
            for one in opened.files():
                _check(one)
                if self.patterns.match(one.path):
                    refused = one.refused or unusable(one.path)
                    yield replace(one, path=shown(one.path), refused=refused, access=None, sidecar=None)

    def read(self, listed: ListedFile, most: int) -> bytes:
        """See `Origin.read`; raises InstalledError."""
        point, opened = _opened(self.uri)
        with point.named():
            return memoryview(opened.read(listed, most))[:most].tobytes()


def _check(listed: ListedFile) -> None:
    """Raise an error about a document that cannot be a row of a listing."""
    for name, kind in _KINDS.items():
        if not isinstance(value := getattr(listed, name), kind):
            raise TypeError(f"{name} of {listed.path!r} is {value!r}, no {getattr(kind, '__name__', kind)}")
    if not listed.stamp:
        raise ValueError(f"{listed.path!r} has no stamp, so that no change of it would be seen")


@cache
def _opened(uri: str) -> tuple[Installed, Origin]:
    point = installed(_GROUP)[uri.partition("://")[0].lower()]
    return point, point.call(uri)
