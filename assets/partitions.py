"""The partitions of the assets as they are declared; `build_definitions` puts those of the namespace in their place."""

from assets.namespace import Namespace

SOURCES = Namespace().sources
