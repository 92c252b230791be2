"""Embedding models that run on this machine: folders of sentence-transformers, and ONNX files."""
