"""Decisions of people about names."""
