"""The declared partitions of the assets; `build_definitions` replaces them by those of the namespace."""

from lightrag_dagster.assets.namespace import Namespace

SOURCES = Namespace().sources
