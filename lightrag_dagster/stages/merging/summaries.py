"""Summaries of descriptions that are too many or too long to join: LightRAG's map and reduce."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Literal, NamedTuple

from lightrag_dagster.core.aio import gather_or_cancel
from lightrag_dagster.core.progress import report
from lightrag_dagster.core.protocols import ChatModel
from lightrag_dagster.errors import OutputLimitError, PermanentProviderError, TransientProviderError
from lightrag_dagster.settings import MergingSettings
from lightrag_dagster.stages.prompts import Prompts
from lightrag_dagster.stages.prompts.requests import summary_request

CountTokens = Callable[[list[str]], list[int]]

SEPARATOR = "<SEP>"
"""The separator of joined descriptions; the SQL of the merge uses it too."""


class Group(NamedTuple):
    """The distinct descriptions of one entity or relation, in canonical order."""

    kind: Literal["Entity", "Relation"]
    id: str
    name: str
    descriptions: list[str]


async def summarise(
    groups: Sequence[Group],
    model: ChatModel,
    prompts: Prompts,
    settings: MergingSettings,
    count_tokens: CountTokens,
    max_concurrency: int,
    longer_outputs: Sequence[int] = (),
) -> dict[str, str | None]:
    """Return id → summary for groups over a threshold, None where it failed.

    Descriptions that fit into one call become one summary. More are packed into several calls, in their order, and
    the answers are treated like descriptions again. One that is cut off is asked for again with each of
    `longer_outputs` (tokens), and fails after that.

    Raises:
        ProviderAccessError: no summary can succeed until a person acts; earlier answers are in the response store.
    """
    # The longest need several calls one after another: they begin first, so that none is left alone at the end.
    waiting = iter(sorted(groups, key=lambda group: (-len(group.descriptions), group.id)))
    summaries: dict[str, str | None] = {}

    async def condense(group: Group) -> str:
        texts = group.descriptions
        while needs_summary(texts, settings, count_tokens):
            packs = _packs(texts, settings.summary_context_tokens, count_tokens)
            texts = [await ask(group, pack) if len(pack) > 1 else pack[0] for pack in packs]
        return SEPARATOR.join(texts)

    async def ask(group: Group, texts: list[str]) -> str:
        request = summary_request(prompts, group.kind, group.name, texts, settings.summary_max_tokens)
        for limit in (None, *longer_outputs):
            with suppress(OutputLimitError):
                answer = await model.complete(replace(request, max_output_tokens=limit))
                if answer.finish_reason != "length":
                    return answer.text.strip()
        raise OutputLimitError(f"the summary by {model.identity} is cut off")

    async def work() -> None:
        for group in waiting:
            try:
                summaries[group.id] = await condense(group) or None
            except (PermanentProviderError, TransientProviderError):
                summaries[group.id] = None
            report("summaries", len(summaries), len(groups))
            # Stored answers never suspend: let other tasks and a cancellation through.
            await asyncio.sleep(0)

    await gather_or_cancel(work() for _ in range(min(max_concurrency, len(groups))))
    return dict(sorted(summaries.items()))


def needs_summary(texts: list[str], settings: MergingSettings, count_tokens: CountTokens) -> bool:
    """Return True if descriptions are too many or too long to join."""
    if len(texts) < 2:
        return False
    return len(texts) >= settings.summary_min_descriptions or sum(count_tokens(texts)) >= settings.summary_min_tokens


def _packs(texts: list[str], limit: int, count_tokens: CountTokens) -> Iterator[list[str]]:
    """Cut texts into packs of at most `limit` tokens, each of at least two texts, except the last one."""
    pack, used = list[str](), 0
    for text, tokens in zip(texts, count_tokens(texts), strict=True):
        if len(pack) >= 2 and used + tokens > limit:
            yield pack
            pack, used = [], 0
        pack.append(text)
        used += tokens
    yield pack
