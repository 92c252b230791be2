"""Rows into vectors: the embedded text, and embedding only what changed."""
