"""Everything that touches the home: tables, vectors, graph, and how a generation is published."""
