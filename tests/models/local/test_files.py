import json
import os
from pathlib import Path

import pytest

from lightrag_dagster.errors import SettingsError
from lightrag_dagster.models.local import files
from lightrag_dagster.models.local.files import find_model
from lightrag_dagster.models.providers import embedder_identity
from tests.models.local.models import TINY, change, copy_of, settings_for


def test_the_identity_follows_weights_and_configuration_and_not_the_place(tmp_path: Path) -> None:
    first, second = copy_of(tmp_path / "a" / "tiny"), copy_of(tmp_path / "b" / "tiny")
    (second / "README.md").write_text("A model.")
    (second / "onnx" / "other.onnx").write_bytes(b"another")
    identity = embedder_identity(settings_for(first))
    assert identity.startswith("local/tiny@")
    assert embedder_identity(settings_for(second)) == identity
    assert embedder_identity(settings_for(second, batch_size=1)) == identity
    assert embedder_identity(settings_for(second, max_input_tokens=9)) != identity

    seen = {identity, embedder_identity(settings_for(first / "onnx" / "model.onnx"))}
    change(second / "config_sentence_transformers.json", prompts={"query": "Q: "})
    seen.add(embedder_identity(settings_for(second)))
    change(second / "1_Pooling" / "config.json", pooling_mode="cls")
    seen.add(embedder_identity(settings_for(second)))
    (second / "model.safetensors").write_bytes(b"other weights")
    seen.add(embedder_identity(settings_for(second)))
    assert len(seen) == 5


def test_another_length_is_named_before_anything_is_embedded() -> None:
    with pytest.raises(SettingsError, match=r"vectors of 32 dimensions.*set LIGHTRAG_EMBEDDING__DIMENSIONS=32"):
        embedder_identity(settings_for(TINY, dimensions=1024))


def test_an_onnx_file_counts_with_the_weights_beside_it(tmp_path: Path) -> None:
    file = copy_of(tmp_path / "tiny") / "onnx" / "model.onnx"
    alone = embedder_identity(settings_for(file))
    (file.parent / "model.onnx_data").write_bytes(b"1")
    assert embedder_identity(settings_for(file)) != alone


def test_a_name_is_looked_up_in_the_cache_of_hugging_face(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path / "huggingface"))
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    repository = tmp_path / "huggingface" / "hub" / "models--someone--tiny"
    with pytest.raises(SettingsError, match=r"someone/tiny is neither .* `hf download someone/tiny`"):
        find_model("someone/tiny")
    copy_of(repository / "snapshots" / "4f2a")
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("4f2a")
    assert find_model("someone/tiny").folder == repository / "snapshots" / "4f2a"
    file = find_model("someone/tiny/onnx/model.onnx").onnx
    assert file == repository / "snapshots" / "4f2a" / "onnx" / "model.onnx"

    same = copy_of(tmp_path / "models" / "tiny")
    assert embedder_identity(settings_for("someone/tiny")) == embedder_identity(settings_for(same))


def test_what_is_no_model_is_named(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "lone.onnx").write_bytes(b"")
    for model, why in (
        (tmp_path / "nowhere", "download the model first$"),
        (tmp_path / "empty", "neither a model's folder"),
        (tmp_path / "lone.onnx", r"no tokenizer\.json beside it"),
        ("text-embedding-3-small", "neither a model's folder"),
    ):
        with pytest.raises(SettingsError, match=why):
            embedder_identity(settings_for(model))


def test_large_files_are_hashed_once_and_again_when_they_were_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    hashed, sha256 = list[str](), files._sha256

    def counted(path: Path) -> str:
        hashed.append(path.name)
        return sha256(path)

    monkeypatch.setattr(files, "_sha256", counted)
    weights = copy_of(tmp_path / "tiny") / "model.safetensors"
    weights.write_bytes(bytes(2_000_000))
    first = [embedder_identity(settings_for(weights.parent)) for _ in range(3)]
    assert len(set(first)) == 1
    assert hashed.count("model.safetensors") == 1

    before = weights.stat()
    weights.write_bytes(bytes(1_999_999) + b"1")
    os.utime(weights, ns=(before.st_atime_ns, before.st_mtime_ns))  # as archives and images restore it
    assert embedder_identity(settings_for(weights.parent)) not in first
    assert hashed.count("model.safetensors") == 2

    (cache,) = (tmp_path / "user").rglob("file-hashes.json")
    assert len(json.loads(cache.read_text())) == 1
    cache.write_text("{")
    assert embedder_identity(settings_for(weights.parent)) not in first


def test_without_a_place_for_hashes_there_is_an_identity_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "user").write_text("a file")
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    weights = copy_of(tmp_path / "tiny") / "model.safetensors"
    weights.write_bytes(bytes(2_000_000))
    assert embedder_identity(settings_for(weights.parent)).startswith("local/tiny@")
