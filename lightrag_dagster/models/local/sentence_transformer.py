"""Models of sentence-transformers in folders, run by that library, on a GPU if there is one."""

from sentence_transformers import SentenceTransformer
from transformers.utils import logging

from lightrag_dagster.models.local.configuration import Kind, prompts
from lightrag_dagster.models.local.encoded import BATCH_TOKENS, Encoded
from lightrag_dagster.models.local.files import ModelFiles


class SentenceTransformerModel:
    """A model in a folder; see `LoadedModel`."""

    def __init__(self, files: ModelFiles, most_tokens: int, batch_size: int) -> None:
        """Load a folder; `most_tokens` of a text are read, `batch_size` texts at most run together."""
        # It would draw over the command line's own.
        logging.disable_progress_bar()  # type: ignore[no-untyped-call, unused-ignore]
        self._model = SentenceTransformer(str(files.folder), local_files_only=True)
        self.limit = self._model.max_seq_length = min(most_tokens, self._model.max_seq_length or most_tokens)
        self._prompts = prompts(files)
        self._batch_size = batch_size

    def encode(self, kind: Kind, texts: list[str]) -> Encoded:
        """See `LoadedModel.encode`."""
        limit, lengths = self.limit, self.lengths(kind, texts)
        encode = self._model.encode_query if kind == "query" else self._model.encode_document
        vectors = encode(
            texts,
            prompt=self._prompts[kind],
            batch_size=max(1, min(self._batch_size, BATCH_TOKENS // min(limit, max(lengths)))),
            show_progress_bar=False,
        )
        return Encoded(vectors, sum(min(length, limit) for length in lengths))

    def lengths(self, kind: Kind, texts: list[str]) -> list[int]:
        """See `LoadedModel.lengths`."""
        whole = [self._prompts[kind] + text for text in texts]
        return [len(tokens) for tokens in self._model.tokenizer(whole, truncation=False, verbose=False)["input_ids"]]
