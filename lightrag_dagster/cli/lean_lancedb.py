"""Import LanceDB without its REST client, which takes half a second and which a local database never calls."""

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
        return ModuleSpec(fullname, self, is_package=True) if _is_client(fullname) else None

    def exec_module(self, module: ModuleType) -> None:
        module.__getattr__ = _placeholder  # type: ignore[method-assign]


def _is_client(module: str) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in _CLIENT)


@cache
def _placeholder(name: str) -> type[Exception]:
    if name.startswith("__"):
        raise AttributeError(name)
    return type(name, (Exception,), {})


def import_lancedb() -> None:
    """Import `lancedb` for local databases only; a command that ends afterwards may call it, a library must not."""
    if "lancedb" in sys.modules:  # to forget the client that it already has would load its classes twice
        return
    finder = _Placeholders()
    sys.meta_path.insert(0, finder)
    try:
        import lancedb  # noqa: F401
    finally:
        sys.meta_path.remove(finder)
        for name in filter(_is_client, list(sys.modules)):
            del sys.modules[name]
