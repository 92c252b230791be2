"""Decisions of people about names, and names that may be one."""
