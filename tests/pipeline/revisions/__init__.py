"""Fixed inputs of every stage that has a revision number, and functions that return its output for them."""
