"""Indexes of the merged tables: LanceDB, Kùzu, adjacency arrays and DuckDB views."""
