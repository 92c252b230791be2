"""LightRAG as a batch data platform: documents in, a published knowledge base out, every step a table."""
