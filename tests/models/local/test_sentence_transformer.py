"""Folders by sentence-transformers; torch is too large for every test machine."""

import asyncio
from pathlib import Path

import numpy as np
import pytest

from lightrag_dagster.core.protocols import Usage
from lightrag_dagster.engines.factory import open_engine
from lightrag_dagster.models.providers import open_plain_embedder
from tests.models.local.models import TEXTS, TINY, change, copy_of, expected, settings_for

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("default")]


def test_a_folder_is_run_as_it_is(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers", reason="the extra `local` is not installed")
    limited = copy_of(tmp_path / "tiny")
    change(limited / "config_sentence_transformers.json", prompts={"passage": "text: "})

    async def embed() -> Usage:
        usage = Usage()
        async with open_plain_embedder(settings_for(TINY), usage) as embedder:
            documents, questions = await embedder.embed_documents(TEXTS), await embedder.embed_queries(TEXTS)
        np.testing.assert_allclose(documents, expected()["documents"], atol=2e-6)
        np.testing.assert_allclose(questions, expected()["queries"], atol=2e-6)
        async with open_plain_embedder(settings_for(limited, batch_size=1)) as embedder:
            np.testing.assert_allclose(await embedder.embed_documents(TEXTS), documents, atol=2e-6)
        async with open_plain_embedder(settings_for(TINY, max_input_tokens=5)) as embedder:
            cut = await embedder.embed_documents(TEXTS)
        async with open_plain_embedder(settings_for(TINY / "onnx" / "model.onnx", max_input_tokens=5)) as embedder:
            np.testing.assert_allclose(await embedder.embed_documents(TEXTS), cut, atol=2e-6)
        file = settings_for(TINY / "onnx" / "model.onnx")
        async with open_plain_embedder(settings_for(TINY)) as one, open_plain_embedder(file) as other:
            assert await one.unread(TEXTS) == await other.unread(TEXTS)
        return usage

    usage = asyncio.run(embed())
    assert usage.input_tokens == 232


def test_an_actor_embeds_as_this_process_does(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sentence_transformers", reason="the extra `local` is not installed")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))

    async def embed() -> None:
        with open_engine("ray") as engine:
            async with open_plain_embedder(settings_for(TINY), engine=engine) as embedder:
                np.testing.assert_allclose(await embedder.embed_documents(TEXTS), expected()["documents"], atol=2e-6)

    asyncio.run(embed())
