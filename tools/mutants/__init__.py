"""Mutants: small faults that are put into the code on purpose, each of which some test must notice."""
