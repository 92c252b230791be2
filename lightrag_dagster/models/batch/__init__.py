"""Extraction by the provider's Batch API: half the price, within a day, and nothing submitted twice."""
