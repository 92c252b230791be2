"""LightRAG's environment, apart from ours, and the vocabulary of its tokenizer, so that it runs without a network."""

import base64
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.bench import ROOT
from lightrag_dagster.core.text.encodings import load_encoding

VERSION = "1.5.7"
FOLDER = ROOT / "benchmarks" / ".venv"
REQUIREMENTS = ROOT / "benchmarks" / "lightrag.txt"
VOCABULARY = FOLDER / "tiktoken"
_VOCABULARY_FILE = "fb374d419588a4632f3f557e76b4b70aebbca790"
"""The name under which tiktoken looks for o200k_base in the folder that TIKTOKEN_CACHE_DIR names."""
_LAST_LINES = 5


class InstallError(Exception):
    """LightRAG could not be installed; the message is what pip said last."""


def lightrag_python() -> Path:
    """Return the Python of the environment, which is made unless it is there.

    Raises:
        InstallError: pip could not install it.
    """
    python, done = FOLDER / "bin" / "python", FOLDER / "installed"
    wanted = REQUIREMENTS.read_text()
    if not done.exists() or done.read_text() != wanted:
        _run(sys.executable, "-m", "venv", "--clear", str(FOLDER))
        pip = (str(python), "-m", "pip", "--disable-pip-version-check")
        _run(*pip, "install", "--quiet", "--requirement", str(REQUIREMENTS))
        _write_vocabulary()
        done.write_text(wanted)
    return python


def _run(*command: str) -> None:
    # Bytecode is kept, also where the environment forbids it: it would be made again by each command that is measured.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    ended = subprocess.run(command, env=kept, capture_output=True, text=True, check=False)
    if ended.returncode:
        said = (ended.stderr or ended.stdout).strip().splitlines()[-_LAST_LINES:]
        raise InstallError(f"LightRAG {VERSION} cannot be installed: {' '.join(said)}")


def _write_vocabulary() -> None:
    """Write the vocabulary of o200k_base, which this package has, as tiktoken stores it."""
    encoding = load_encoding("o200k_base")
    tokens = sorted(encoding.token_byte_values(), key=encoding.encode_single_token)
    VOCABULARY.mkdir()
    lines = (f"{base64.b64encode(token).decode()} {rank}\n" for rank, token in enumerate(tokens))
    (VOCABULARY / _VOCABULARY_FILE).write_text("".join(lines))
