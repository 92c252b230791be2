"""The benchmark beside LightRAG: the same passages, responses and machine, in turn; `python -m benchmarks.bench`."""
