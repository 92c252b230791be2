"""Extraction by the provider's Batch API: half the price, within a day, and no request submitted twice."""
