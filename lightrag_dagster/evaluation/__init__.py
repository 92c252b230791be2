"""Retrieval metrics of the modes over a set of questions, measured on the published snapshot."""
