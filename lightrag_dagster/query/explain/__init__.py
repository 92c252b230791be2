"""Explanations of a retrieval: paths to a passage, tables and figures."""
