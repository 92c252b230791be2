"""Generations, published snapshots, their verification, repair and garbage collection."""
