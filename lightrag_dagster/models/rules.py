"""Chat models made of rules: they read the same messages as a language model and answer in the same formats."""

import json
import re
from collections.abc import AsyncIterator, Iterator
from functools import cached_property
from typing import Any

from lightrag_dagster import offline
from lightrag_dagster.core.protocols import ChatRequest, ChatResponse, FreeModel
from lightrag_dagster.core.text.names import normalise_name
from lightrag_dagster.errors import PermanentProviderError
from lightrag_dagster.stages.extraction.writing import without_marks, write_answer
from lightrag_dagster.stages.prompts import NO_CONTEXT
from lightrag_dagster.stages.prompts.fencing import last_fenced

_RULES_VERSION = 11
"""Raise it when records of an answer change: it is part of the key of stored answers."""

_NAMES_VERSION = 8
"""Raise it when other names are found: it is part of the recipe of extractions."""

_SHORT_NUMBER = re.compile(r"[0-9.]{1,5}")
_LIMIT = re.compile(r"(\d{1,6}) tokens")
_SUMMARY_TOKENS = 600
_REFERENCE = re.compile(r"^\[(\d+)\] (.+)$", re.MULTILINE)


class OfflineChatModel:
    """A chat model without network, key or cost; the same request always gets the same answer."""

    @property
    def identity(self) -> str:
        """The provider and the version of its rules."""
        return f"offline/rules-{_RULES_VERSION}"

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Answer one request.

        Raises:
            PermanentProviderError: the last message does not end in the fence that its role asks for.
        """
        last = request.messages[-1].content
        if request.role == "answer":
            context = "\n".join(message.content for message in request.messages if message.role == "system")
            return ChatResponse(_answer(last, context))
        if request.role == "extract" and any(message.role == "assistant" for message in request.messages):
            return ChatResponse(write_answer(()))  # rules find everything in the first round
        body = last_fenced(last)
        if body is None:
            raise PermanentProviderError(
                f"the offline model was asked to {request.role}, but the message ends in no fence; check custom prompts"
            )
        if request.role == "extract":
            return ChatResponse(_as_rows(offline.extract(without_marks(body), language=request.language)))
        if request.role == "keywords":
            high, low = offline.find_keywords(body)
            keywords = {"high_level_keywords": high or low, "low_level_keywords": low or high}
            return ChatResponse(json.dumps(keywords, ensure_ascii=False))
        limit = _LIMIT.search(request.messages[0].content)
        tokens = int(limit[1]) if limit else request.max_output_tokens or _SUMMARY_TOKENS
        return ChatResponse(
            offline.summarise((record["Description"] for record in _objects(body, "Description")), tokens)
        )

    async def stream(self, request: ChatRequest) -> AsyncIterator[str]:
        """Yield an answer line by line; raises as `complete`."""
        for line in (await self.complete(request)).text.splitlines(keepends=True):
            yield line


class NameFinder(FreeModel):
    """A chat model for requests that extract. It counts no calls and no tokens, since no model is asked.

    It can be pickled until it is asked; the first request loads its pipeline.
    """

    def __init__(self, *, co_mentions: bool = False, pipeline: str | None = None) -> None:
        """Relate names in one sentence with `co_mentions`; find further names with the spaCy pipeline `pipeline`.

        Raises:
            SettingsError: the pipeline is not on this machine.
        """
        super().__init__()
        self._co_mentions = co_mentions
        self._pipeline = pipeline
        self._pipeline_identity = ""
        if pipeline:
            from lightrag_dagster.models.local import pipeline_identity

            self._pipeline_identity = pipeline_identity(pipeline)

    @property
    def identity(self) -> str:
        """The version of the rules, the pipeline, and whether names are related."""
        found_by = f"rules-{_NAMES_VERSION}" + (f"+{self._pipeline_identity}" if self._pipeline else "")
        return f"mentions/{found_by}{'?co_mentions' if self._co_mentions else ''}"

    async def complete(self, request: ChatRequest) -> ChatResponse:
        """Return the names of the passage in the last message.

        Raises:
            PermanentProviderError: the message ends in no fence.
            SettingsError: the pipeline cannot be loaded.
        """
        body = last_fenced(request.messages[-1].content)
        if body is None:
            raise PermanentProviderError("a request to extract ends in no fence; check custom prompts")
        text, related = without_marks(body), self._co_mentions
        found = offline.find_names(text, co_mentions=related, recognise=self._recognise, language=request.language)
        return ChatResponse(_as_rows(found))

    @cached_property
    def _recognise(self) -> offline.Recogniser | None:
        if self._pipeline is None:
            return None
        from lightrag_dagster.models.local import load_pipeline

        return load_pipeline(self._pipeline, self._pipeline_identity)


def _as_rows(found: offline.Extracted) -> str:
    """Return a chunk's entities and relations as an answer, one record a line.

    Those with a number of few digits for a name or description are left out: a reader would refuse their rows.
    """
    rows: list[tuple[str, ...]] = [
        ("entity", one.name, one.type, one.description)
        for one in found.entities
        if _is_readable(one.name, one.description)
    ]
    rows += [
        ("relation", one.src, one.tgt, one.keywords, one.description)
        for one in found.relations
        if _is_readable(one.src, one.tgt, one.description)
    ]
    return write_answer(rows)


def _is_readable(*fields: str) -> bool:
    return not any(_SHORT_NUMBER.fullmatch(field) and not normalise_name(field) for field in fields)


def _answer(question: str, context: str) -> str:
    """Return an answer in sentences of the context's chunks, each cited, and the list of their documents."""
    chunks = _objects(context, "reference_id", "content")
    sentences = offline.answer(question, (offline.Passage(chunk["reference_id"], chunk["content"]) for chunk in chunks))
    if not sentences:
        return NO_CONTEXT
    paths = dict(_REFERENCE.findall(context))
    said = "\n\n".join(f"{one.text} [{one.reference}]" for one in sentences)
    cited = dict.fromkeys(one.reference for one in sentences)
    references = "\n".join(f"- [{number}] {paths[number]}" for number in cited if number in paths)
    return f"{said}\n\n### References\n\n{references}"


def _objects(text: str, *keys: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects on a line of their own whose `keys` are texts."""
    for line in text.splitlines():
        if line.startswith("{"):
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if all(isinstance(record.get(key), str) for key in keys):
                yield record
