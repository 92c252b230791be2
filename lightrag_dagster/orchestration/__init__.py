"""Dagster around the engine: definitions, component, instance, and running its jobs from the command line."""
