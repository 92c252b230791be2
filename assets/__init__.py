"""The Dagster assets, one module a stage: read, call the engine, write, report."""
