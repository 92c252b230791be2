"""The one partition dimension."""

import dagster as dg

SOURCES = dg.DynamicPartitionsDefinition(name="source")
"""A partition is a source: an authoritative statement of what that source holds now."""
