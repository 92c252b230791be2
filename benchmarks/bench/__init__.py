"""The benchmark beside LightRAG: the same passages, responses and machine, in turn; `python -m benchmarks.bench`."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
"""The project's folder, from which its programs start."""
