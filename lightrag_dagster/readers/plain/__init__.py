"""Readers of plain text, Markdown, reStructuredText, XML and tables of values."""
