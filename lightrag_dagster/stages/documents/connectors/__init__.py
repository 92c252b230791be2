"""Connectors to places with documents: each lists the documents and reads one."""
