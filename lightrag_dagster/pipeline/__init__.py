"""The making of every table: ingestion, merge, vectors, graph, publication; pending work, its plan, and purge."""
