"""ONNX files by onnxruntime, against the vectors that sentence-transformers gives for the same model."""

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from lightrag_dagster.core.protocols import Usage, Vectors
from lightrag_dagster.errors import EmbeddingError, SettingsError
from lightrag_dagster.models.local.encoded import processors
from lightrag_dagster.models.local.loading import load_model
from lightrag_dagster.models.providers import embedder_identity, open_plain_embedder
from lightrag_dagster.settings import EmbeddingSettings
from tests.models.local.models import TEXTS, TINY, change, copy_of, expected, settings_for

pytest.importorskip("onnxruntime", reason="the extra `onnx` is not installed")
FILE = TINY / "onnx" / "model.onnx"


def embed(settings: EmbeddingSettings, texts: Sequence[str], *, queries: bool = False) -> tuple[Vectors, Usage]:
    async def made() -> tuple[Vectors, Usage]:
        usage = Usage()
        async with open_plain_embedder(settings, usage) as embedder:
            return await (embedder.embed_queries if queries else embedder.embed_documents)(texts), usage

    return asyncio.run(made())


def test_the_vectors_are_those_of_sentence_transformers() -> None:
    documents, usage = embed(settings_for(FILE), TEXTS)
    np.testing.assert_allclose(documents, expected()["documents"], atol=2e-6)
    questions, _ = embed(settings_for(FILE), TEXTS, queries=True)
    np.testing.assert_allclose(questions, expected()["queries"], atol=2e-6)
    assert np.abs(documents - questions).max() > 0.01  # the model has a prompt for each
    assert 3 * 32 < usage.input_tokens < 5 * 32


def unread(settings: EmbeddingSettings, texts: Sequence[str]) -> list[int]:
    async def counted() -> list[int]:
        async with open_plain_embedder(settings) as embedder:
            return await embedder.unread(texts)

    return asyncio.run(counted())


def test_what_is_not_read_is_counted_in_tokens_of_the_model(tmp_path: Path) -> None:
    file = copy_of(tmp_path / "tiny") / "onnx" / "model.onnx"
    change(tmp_path / "tiny" / "config_sentence_transformers.json", prompts={})
    tokenizer = pytest.importorskip("tokenizers").Tokenizer.from_file(str(TINY / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    for limit in (32, 10):
        found = unread(settings_for(file, max_input_tokens=limit), TEXTS)
        for text, length in zip(TEXTS, found, strict=True):
            tokens = len(tokenizer.encode(text).ids)
            assert length == pytest.approx(len(text) * max(0, 1 - limit / tokens), abs=1)
            assert (length > 0) == (tokens > limit)
    assert unread(settings_for(file), [" ", *TEXTS, " "]) == [0, *unread(settings_for(file), TEXTS), 0]
    assert unread(settings_for(file), []) == []
    with_prompt = unread(settings_for(FILE), TEXTS)
    assert sum(with_prompt) > sum(unread(settings_for(file), TEXTS))
    assert [length > 0 for length in with_prompt] == [True, False, False, True, True]


@pytest.mark.long
@pytest.mark.parametrize("name", ["model.onnx", "model_quint8.onnx"])
def test_a_vector_is_the_same_whatever_it_is_embedded_beside(name: str) -> None:
    file = FILE.with_name(name)
    texts = [*TEXTS, *(f"{TEXTS[0]} {number}" for number in range(30)), *(word * 3 for word in "abcdefghijkl")]
    alone = np.concatenate([embed(settings_for(file), [text])[0] for text in texts])
    np.testing.assert_array_equal(embed(settings_for(file), texts)[0], alone)
    np.testing.assert_array_equal(embed(settings_for(file, batch_size=2), texts[::-1])[0], alone[::-1])
    assert embed(settings_for(file), [])[0].shape == (0, 32)


@pytest.mark.parametrize(
    ("pooling", "same_as"),
    [
        ({"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}, "mean"),
        ({"pooling_mode_cls_token": True}, "cls"),
        ({"pooling_mode": "lasttoken"}, "lasttoken"),
        ({"pooling_mode": ["max"]}, "max"),
    ],
)
def test_pooling_is_what_old_and_new_configurations_say(
    tmp_path: Path, pooling: dict[str, object], same_as: str
) -> None:
    vectors = {}
    for name, config in (("told", {"pooling_mode": None} | pooling), ("meant", {"pooling_mode": same_as})):
        model = copy_of(tmp_path / name)
        change(model / "1_Pooling" / "config.json", **config)
        vectors[name], _ = embed(settings_for(model / "onnx" / "model.onnx"), TEXTS)
    np.testing.assert_array_equal(vectors["told"], vectors["meant"])
    is_mean = np.allclose(vectors["told"], expected()["documents"], atol=2e-6)
    assert is_mean == (same_as == "mean")


def test_prompts_limits_and_case_are_those_of_the_configuration(tmp_path: Path) -> None:
    model = copy_of(tmp_path / "tiny")
    change(model / "config_sentence_transformers.json", prompts={"query": "query: ", "document": "", "passage": "P: "})
    file = model / "onnx" / "model.onnx"
    passages, _ = embed(settings_for(file), TEXTS)
    change(model / "config_sentence_transformers.json", prompts={"document": "P: "})
    np.testing.assert_array_equal(embed(settings_for(file), TEXTS)[0], passages)
    change(model / "config_sentence_transformers.json", prompts={})
    plain, _ = embed(settings_for(file), ["p: " + text for text in TEXTS])
    np.testing.assert_array_equal(plain, passages)

    cut, usage = embed(settings_for(file, max_input_tokens=5), TEXTS)
    assert usage.input_tokens == 5 + 5 + 2 + 5 + 5  # an empty text has a beginning and an end
    change(model / "sentence_bert_config.json", max_seq_length=5, do_lower_case=True)
    np.testing.assert_array_equal(embed(settings_for(file), TEXTS)[0], cut)


def test_what_onnxruntime_cannot_run_alone_is_for_sentence_transformers(tmp_path: Path) -> None:
    model = copy_of(tmp_path / "tiny")
    file, modules = model / "onnx" / "model.onnx", (model / "modules.json").read_text()
    (model / "modules.json").write_text(modules.replace("pooling.Pooling", "dense.Dense"))
    with pytest.raises(SettingsError, match=r"holds only a part of the model; name its folder"):
        embed(settings_for(file), TEXTS)
    (model / "modules.json").write_text(modules)
    file.write_bytes(file.read_bytes().replace(b"token_type_ids", b"position_ids__"))
    with pytest.raises(SettingsError, match=r"asks for position_ids__, .* name its folder"):
        embed(settings_for(file), TEXTS)
    file.write_bytes(b"no model")
    with pytest.raises(SettingsError, match=r"model\.onnx cannot be loaded"):
        embed(settings_for(file), TEXTS)


def test_a_length_that_no_file_tells_is_checked_when_vectors_arrive(tmp_path: Path) -> None:
    model = copy_of(tmp_path / "tiny")
    change(model / "1_Pooling" / "config.json", embedding_dimension=None)
    with pytest.raises(EmbeddingError, match=r"vectors of 32 dimensions.*set LIGHTRAG_EMBEDDING__DIMENSIONS=32"):
        embed(settings_for(model / "onnx" / "model.onnx", dimensions=1024), TEXTS)


def test_a_worker_with_other_weights_is_an_error() -> None:
    with pytest.raises(EmbeddingError, match=r"is not local/tiny@0000; copy the same model to every machine"):
        load_model(settings_for(FILE), "local/tiny@0000")
    assert load_model(settings_for(FILE), embedder_identity(settings_for(FILE)))


@pytest.mark.parametrize(
    ("model", "library", "extra"), [(FILE, "onnxruntime", "onnx"), (TINY, "sentence_transformers", "local")]
)
def test_a_missing_library_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, model: Path, library: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    for name in ("onnx", "sentence_transformer"):
        monkeypatch.delitem(sys.modules, f"lightrag_dagster.models.local.{name}", raising=False)
    with pytest.raises(SettingsError, match=rf"needs {library}; `pip install lightrag-dagster\[{extra}\]`"):
        embed(settings_for(model), TEXTS)


@pytest.mark.parametrize(("value", "threads"), [("3", 3), (" 4,2", 4), ("", None), ("0", None), ("all", None)])
def test_threads_are_those_of_the_outer_level(monkeypatch: pytest.MonkeyPatch, value: str, threads: int | None) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert processors() == (threads or os.cpu_count())
