"""LanceDB without the client of its REST service, which nothing here calls and which takes half of a `query`.

`import lancedb` imports some 500 generated classes of `lance_namespace_urllib3_client`: on two busy processors 2.5
seconds of processor time in place of 0.9, and 3.9 of a `query` in place of 1.9.
"""

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


class _Placeholders(MetaPathFinder, Loader):
    """An importer that loads modules of the client empty; every other name in them is a class without meaning."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        is_unused = fullname.partition(".")[0] == "lance_namespace_urllib3_client"
        return ModuleSpec(fullname, self, is_package=True) if is_unused else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Placeholder(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


class _Placeholder(ModuleType):
    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def leave_out_unused() -> None:
    """Load placeholders for these modules from now on; for a process that runs only one command."""
    sys.meta_path.insert(0, _Placeholders())
