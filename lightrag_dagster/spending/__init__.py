"""Ledger, budget and prices: what model calls cost."""
