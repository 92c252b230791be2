"""Small spaCy pipelines of patterns, for tests."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest


def make_pipeline(folder: Path, patterns: Mapping[str, str], *, language: str = "en") -> Path:
    """Save a pipeline that finds phrases, phrase → label, in any case, and return its folder."""
    spacy = pytest.importorskip("spacy", reason="the extra `names` is not installed")
    folder.parent.mkdir(parents=True, exist_ok=True)
    pipeline = spacy.blank(language)
    ruler = pipeline.add_pipe("entity_ruler", config={"phrase_matcher_attr": "LOWER"})
    ruler.add_patterns([{"label": label, "pattern": phrase} for phrase, label in patterns.items()])
    pipeline.to_disk(folder)
    return folder


def make_package(folder: Path, name: str, patterns: Mapping[str, str]) -> Sequence[str]:
    """Save a pipeline as the package that spaCy installs, and return what to put on the path."""
    make_pipeline(folder / name / f"{name}-1.0.0", patterns)
    (folder / name / "__init__.py").write_text("raise ImportError('the files are read, not the package')")
    return [str(folder)]
