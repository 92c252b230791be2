"""Cypher over the graph of a snapshot, answered by a process that can read nothing else."""
