"""What is built over the merged tables: LanceDB, Kùzu, adjacency arrays and DuckDB views."""
