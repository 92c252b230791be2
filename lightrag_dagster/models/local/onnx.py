"""Models of sentence-transformers in ONNX files, run by onnxruntime without torch.

Texts of equal length run together, so that nothing is padded, and on a CPU each batch has one thread: there the vector
of a text is the same to the last bit, independent of the texts it runs with.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import onnxruntime
from tokenizers import Encoding, Tokenizer

from lightrag_dagster.core.protocols import Vectors
from lightrag_dagster.errors import SettingsError
from lightrag_dagster.models.local.configuration import Kind, lowers_case, pooling, prompts, token_limit
from lightrag_dagster.models.local.encoded import BATCH_TOKENS, Encoded, processors
from lightrag_dagster.models.local.files import ModelFiles

# With more in a batch, threads wait for each other at the end of a call.
_TEXTS_A_THREAD = 8
# Such a model rounds by the largest number of a batch, so that the rounding of a text would depend on its neighbours.
_ROUNDS_BY_BATCH = b"DynamicQuantize"
_INPUTS = {"input_ids", "attention_mask", "token_type_ids"}

# From the last layer, shape (texts, tokens, dimensions); the vectors need not be of unit length.
_POOLING: dict[str | None, Callable[[Any], Vectors]] = {
    "cls": lambda layer: layer[:, 0],
    "lasttoken": lambda layer: layer[:, -1],
    "max": lambda layer: layer.max(axis=1),
    "mean": lambda layer: layer.mean(axis=1),
    "mean_sqrt_len_tokens": lambda layer: layer.mean(axis=1),
}


class OnnxModel:
    """A model in an ONNX file; see `LoadedModel`."""

    def __init__(self, files: ModelFiles, most_tokens: int, batch_size: int) -> None:
        """Load the ONNX file; `most_tokens` of a text are read, `batch_size` texts at most run together.

        Raises:
            SettingsError: onnxruntime alone cannot run it.
        """
        has_cuda = "CUDAExecutionProvider" in onnxruntime.get_available_providers()  # the package onnxruntime-gpu
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        providers = ["CUDAExecutionProvider"] * has_cuda + ["CPUExecutionProvider"]
        self._session = onnxruntime.InferenceSession(str(files.onnx), options, providers=providers)
        self._threads = ThreadPoolExecutor(1 if has_cuda else processors())
        self._texts_a_batch = batch_size if has_cuda else min(batch_size, _TEXTS_A_THREAD)
        if files.onnx and _ROUNDS_BY_BATCH in files.onnx.read_bytes():
            self._texts_a_batch = 1
        self._inputs = _inputs(self._session, files)
        self._output, self._pool = _output(self._session, files)
        self._prompts = prompts(files)
        self._lowers_case = lowers_case(files)
        self._tokenizer = Tokenizer.from_file(str(files.folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self.limit = min(most_tokens, token_limit(files))
        self._tokenizer.enable_truncation(self.limit)

    def encode(self, kind: Kind, texts: list[str]) -> Encoded:
        """See `LoadedModel.encode`."""
        tokens = [encoding.ids for encoding in self._read(kind, texts)]
        batches = list(_of_equal_length(tokens, self._texts_a_batch))
        made = self._threads.map(lambda batch: self._run([tokens[at] for at in batch]), batches)
        vectors = np.concatenate(list(made))[np.argsort(np.concatenate(batches))]
        return Encoded(vectors, sum(map(len, tokens)))

    def lengths(self, kind: Kind, texts: list[str]) -> list[int]:
        """See `LoadedModel.lengths`."""
        # What overflows comes in parts, each with the special tokens again.
        return [
            len(one.ids) + sum(len(part.ids) - sum(part.special_tokens_mask) for part in one.overflowing)
            for one in self._read(kind, texts)
        ]

    def _read(self, kind: Kind, texts: list[str]) -> list[Encoding]:
        whole = [self._prompts[kind] + text for text in texts]
        return self._tokenizer.encode_batch([text.lower() for text in whole] if self._lowers_case else whole)

    def _run(self, tokens: list[list[int]]) -> Vectors:
        ids = np.array(tokens, dtype=np.int64)
        values = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        output = self._session.run([self._output], {name: values[name] for name in self._inputs})[0]
        return self._pool(output.astype(np.float32))


def _of_equal_length(tokens: Sequence[list[int]], most: int) -> Iterator[list[int]]:
    """Yield positions of texts of equal length in tokens, at most `most` and BATCH_TOKENS at a time; longest first."""
    batch: list[int] = []
    for at in sorted(range(len(tokens)), key=lambda at: -len(tokens[at])):
        length = len(tokens[at])
        is_full = len(batch) == most or (len(batch) + 1) * length > BATCH_TOKENS
        if batch and (is_full or len(tokens[batch[0]]) != length):
            yield batch
            batch = []
        batch.append(at)
    yield batch


def _inputs(session: onnxruntime.InferenceSession, files: ModelFiles) -> list[str]:
    names = [one.name for one in session.get_inputs()]
    if unknown := set(names) - _INPUTS:
        raise SettingsError(
            f"setting embedding.model: {files.onnx} asks for {', '.join(sorted(unknown))}, which nothing here makes; "
            f"name its folder, {files.folder}, and sentence-transformers runs it"
        )
    return names


def _output(session: onnxruntime.InferenceSession, files: ModelFiles) -> tuple[str, Callable[[Any], Vectors]]:
    """Return the name of the output with the vectors, and its pooling."""
    names = [one.name for one in session.get_outputs()]
    if "sentence_embedding" in names:
        return "sentence_embedding", lambda vectors: vectors
    mode = pooling(files)
    if mode not in _POOLING:
        raise SettingsError(
            f"setting embedding.model: {files.onnx} holds only a part of the model; "
            f"name its folder, {files.folder}, and sentence-transformers runs all of it"
        )
    return names[0], _POOLING[mode]
