"""The tiny model of these tests, in folders that a test may change."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.settings import EmbeddingSettings

TINY = Path(__file__).parent / "tiny"
"""A BERT of random weights with 32 dimensions that reads 32 tokens; `make_tiny.py` made it."""

TEXTS = [
    "The flood reached Corley Bridge at noon.",
    "short",
    "",
    "Two texts of one length, and 12 numbers.",
    "a text that is far longer than the model can read, " * 5,
]


def expected() -> dict[str, Vectors]:
    """Return the vectors of TEXTS that sentence-transformers gives: `documents` and `queries`."""
    return dict(np.load(Path(__file__).parent / "vectors.npz"))


def copy_of(folder: Path) -> Path:
    """Copy the model to a folder, and return that."""
    return Path(shutil.copytree(TINY, folder))


def change(file: Path, **values: Any) -> None:
    """Set values at the top of a JSON file."""
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


def settings_for(model: Path | str, **values: Any) -> EmbeddingSettings:
    """Return settings of a model with 32 dimensions on this machine."""
    return EmbeddingSettings.model_validate({"provider": "local", "model": str(model), "dimensions": 32} | values)
