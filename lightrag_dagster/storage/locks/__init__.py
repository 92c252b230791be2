"""Locks: one builder of a home, one ingestion of a source."""
