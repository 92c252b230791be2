"""Models that run on this machine: embedding models, in folders or ONNX files, and spaCy pipelines that find names."""
