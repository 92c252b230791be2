"""Leave out LanceDB's REST client, whose import takes half a second and which the stores here never call."""

import sys
from collections.abc import Sequence
from functools import cache
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

_CLIENT = ("lance_namespace", "lance_namespace_urllib3_client", "lancedb.namespace", "lancedb.remote.db")


class _Placeholders(MetaPathFinder, Loader):
    """Finds the client's modules and loads them empty; every name in them is an exception class without meaning."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        is_client = any(fullname == name or fullname.startswith(f"{name}.") for name in _CLIENT)
        return ModuleSpec(fullname, self, is_package=True) if is_client else None

    def exec_module(self, module: ModuleType) -> None:
        module.__getattr__ = _placeholder  # type: ignore[method-assign]


@cache
def _placeholder(name: str) -> type[Exception]:
    if name.startswith("__"):
        raise AttributeError(name)
    return type(name, (Exception,), {})


def leave_out_rest_client() -> None:
    """Let a later import of `lancedb` be one for buckets and disks; for a process that runs nothing else."""
    sys.meta_path.insert(0, _Placeholders())
