"""Explanations of a retrieval: paths to a passage, tables and figures, a picture of the graph."""
