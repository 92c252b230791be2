"""The definitions of the code location, where deployed workspaces and images look for them."""

from lightrag_dagster.orchestration.definitions import defs as defs
