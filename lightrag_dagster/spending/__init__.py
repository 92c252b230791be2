"""Ledger, accounts, budgets and prices of model calls."""
