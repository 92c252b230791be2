"""The partitions of the assets as they are declared; `build_definitions` puts those of the namespace in their place."""

from lightrag_dagster.assets.namespace import Namespace

SOURCES = Namespace().sources
