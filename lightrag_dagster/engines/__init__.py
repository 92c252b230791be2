"""Engines: each applies a function to items, in this process or in others."""
