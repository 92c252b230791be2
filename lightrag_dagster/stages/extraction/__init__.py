"""Extraction: raw responses about chunks, and entity and relation mentions parsed from them."""
