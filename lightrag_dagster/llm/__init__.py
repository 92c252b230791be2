"""Language and embedding models: the protocols, the providers, and what stands between them and the pipeline."""
