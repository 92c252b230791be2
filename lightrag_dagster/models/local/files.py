"""The files of a local model: their folder, and a hash of everything that shapes its vectors.

Nothing here imports a library of models, since every command asks for the hash.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from lightrag_dagster.core.identity import digest
from lightrag_dagster.errors import SettingsError, StoreError
from lightrag_dagster.storage.files.atomic import write_text

_SHAPING = (
    "modules.json",
    "config.json",
    "config_sentence_transformers.json",
    "sentence_*_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.*",
    "merges.txt",
    "*.model",
)
"""Files that shape vectors besides the weights, at the top of a folder."""

# The name of a model at Hugging Face, such as BAAI/bge-small-en-v1.5; a path may look the same.
_NAME = re.compile(r"\w[\w.-]*/\w")

_HASHES = "~/.cache/lightrag-dagster/file-hashes.json"
# Smaller files are hashed each time, which is faster than a look-up.
_LARGE = 1_000_000


class ModelFiles(NamedTuple):
    """The folder of a model, and its ONNX file if that is to run rather than the folder."""

    folder: Path
    onnx: Path | None

    @property
    def name(self) -> str:
        """The name of the folder, or of the model whose copy in the Hugging Face cache it is."""
        is_copy = self.folder.parent.name == "snapshots"
        return self.folder.parents[1].name.rpartition("--")[2] if is_copy else self.folder.resolve().name

    def read(self, name: str) -> Any:
        """Return the content of a JSON file of the folder; empty if it does not exist."""
        path = self.folder / name
        return json.loads(path.read_bytes()) if path.is_file() else {}

    def weights_hash(self) -> str:
        """Return a hash of weights and configuration."""
        return hash_of(self.folder, self._shaping())

    def _shaping(self) -> Iterator[Path]:
        for pattern in _SHAPING:
            yield from self.folder.glob(pattern)
        for module in self.read("modules.json"):
            if module["path"]:
                yield from (path for path in (self.folder / module["path"]).rglob("*") if path.is_file())
        if self.onnx is None:
            yield from list(self.folder.glob("*.safetensors")) or self.folder.glob("pytorch_model*.bin")
        else:
            yield from self.onnx.parent.glob(f"{self.onnx.name}*")  # large weights are in a file next to it


def find_model(model: str) -> ModelFiles:
    """Find a folder, the name of a model in the Hugging Face cache, or the ONNX file of either; asks no server.

    Raises:
        SettingsError: there is no such model on this machine, or it lacks a file.
    """
    path = Path(model).expanduser()
    if not path.exists():
        path = _cached(model)
    if model.endswith(".onnx") and path.is_file():
        folder = next((one for one in path.parents[:2] if (one / "tokenizer.json").is_file()), None)
        if folder is None:
            raise SettingsError(
                f"setting embedding.model: {model} has no tokenizer.json beside it or a folder above; put it there"
            )
        return ModelFiles(folder, path)
    if not path.is_dir() or not ((path / "modules.json").is_file() or (path / "config.json").is_file()):
        how = f": `hf download {'/'.join(model.split('/')[:2])}`" if _NAME.match(model) else ""
        raise SettingsError(
            f"setting embedding.model: {model} is neither a model's folder or ONNX file nor in the Hugging Face cache; "
            f"correct it, or download the model first{how}"
        )
    return ModelFiles(path, None)


def _cached(model: str) -> Path:
    """Return the path of a model, or a file of it, in the cache of Hugging Face; it may not exist."""
    environment = os.environ
    home = environment.get("HF_HOME") or Path(environment.get("XDG_CACHE_HOME") or "~/.cache", "huggingface")
    hub = Path(environment.get("HF_HUB_CACHE") or Path(home, "hub")).expanduser()
    repository = hub / "--".join(["models", *model.split("/")[:2]])
    try:
        revision = (repository / "refs" / "main").read_text().strip()
    except OSError:
        return repository
    return repository.joinpath("snapshots", revision, *model.split("/")[2:])


def hash_of(folder: Path, paths: Iterable[Path]) -> str:
    """Return a hash of files of a folder and their relative paths; the path of the folder does not count."""
    return digest({str(path.relative_to(folder)): _hash(path) for path in paths})[:16]


def _hash(path: Path) -> str:
    """Return the SHA-256 of a file; that of a large one from a cache while the file is unchanged."""
    state = path.stat()
    if state.st_size < _LARGE:
        return _sha256(path)
    cache, key = Path(_HASHES).expanduser(), str(path.resolve())
    seen = [state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino]
    known = _known(cache)
    if known.get(key, [])[:-1] != seen:
        known = _known(cache) | {key: [*seen, _sha256(path)]}
        with suppress(StoreError):  # without a cache it is hashed each time
            write_text(cache, json.dumps(known))
    return str(known[key][-1])


def _known(cache: Path) -> dict[str, list[Any]]:
    try:
        return dict(json.loads(cache.read_bytes()))
    except (OSError, ValueError):
        return {}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
