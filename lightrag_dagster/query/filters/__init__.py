"""Filters: the documents a question may see, and the rows rebuilt from their evidence alone."""
