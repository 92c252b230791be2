"""Chunks into raw responses, and raw responses into entity and relation mentions."""
