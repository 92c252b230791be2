"""A published snapshot, written for other programs: tables, GraphML, and CSV for Neo4j."""
