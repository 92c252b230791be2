"""Readers of HTML: the main text of a page, its blocks and tables as Markdown."""
