"""Tests, none of which needs what libraries import and nothing here calls: half a second for each process."""

from lightrag_dagster.cli.lean_imports import leave_out_unused

leave_out_unused()
