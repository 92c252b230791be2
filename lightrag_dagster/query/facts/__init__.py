"""Questions about facts: lists and counts of them by conditions, and those about the entities of a retrieval."""
