"""Slides of presentations: the order in which people read their shapes, and the texts in these."""
