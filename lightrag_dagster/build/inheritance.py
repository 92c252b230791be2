"""What the next generation is made of: today's recipe, or the one that it inherits from the newest snapshot.

What would make existing texts or vectors otherwise, an edited summary prompt or another model, can cost as much as all
of them did. So it waits for a backfill, as drift of the sources does: until then a generation inherits the settings of
the merge and the embedder, and takes over every description that stands. Descriptions that are new or changed are
summarised the new way. Such a mixture names the generation that it follows, so it is never taken for a clean build.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from lightrag_dagster.build.versions import Versions
from lightrag_dagster.errors import BudgetExceededError, EmbeddingError, ProviderError
from lightrag_dagster.models.providers import embedder_identity
from lightrag_dagster.stages.documents.sources import find_sources
from lightrag_dagster.storage.acceptance import wanted_inputs
from lightrag_dagster.storage.history import newest_snapshot
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.manifest import Embedder, GenerationInputs, Manifest, Recipe

BACKFILL = "`lightrag-dagster backfill --knowledge-base`"
"""The command that makes texts and vectors of the knowledge base anew."""

_INHERITED = ("merging", "encoding", "embedder")
_OF_WHAT_IS_NEW = {"summaries", "extractions", "follows"}
_PARTS = {"summaries": {"summaries", "merging", "encoding", "follows"}, "vectors": {"embedder"}}


def next_inputs(versions: Versions, *, backfill: bool = False) -> GenerationInputs:
    """Return what a merge would read now, and how; what the newest snapshot was made of when nothing else is wanted.

    Args:
        versions: Settings, and fingerprints of the stages now.
        backfill: Follow today's recipe throughout.

    Raises:
        EmbeddingError: the embedder of the newest snapshot, which is inherited, cannot be opened any more.
        SourceError: the sources cannot be listed.
        StoreError: the home is damaged.
    """
    settings = versions.settings
    home, recipe, unimportant = Home(settings.home), versions.recipe, set[str]()
    newest = newest_snapshot(home)
    before = newest.inputs.recipe if newest else None
    if newest and before and not backfill:
        recipe, unimportant = _inherited(recipe, before, newest), _OF_WHAT_IS_NEW
    wanted = wanted_inputs(home, find_sources(settings), recipe.fingerprint).model_copy(update={"recipe": recipe})
    if newest and before and recipe.differences(before) <= unimportant and _same_sources(wanted, newest.inputs):
        return newest.inputs
    _check(recipe.embedder, versions)
    return wanted


def drifted_parts(versions: Versions) -> list[str]:
    """Return which of `summaries` and `vectors` of the newest snapshot today's recipe would make otherwise."""
    newest = newest_snapshot(Home(versions.settings.home))
    if newest is None or newest.inputs.recipe is None:
        return []
    differences = versions.recipe.differences(newest.inputs.recipe)
    return [part for part, fields in _PARTS.items() if fields & differences]


@contextmanager
def explaining_inherited(embedder: Embedder, now: Embedder) -> Iterator[None]:
    """Add to a provider's error why `embedder` was asked, where it is not the one of today's settings."""
    try:
        yield
    except ProviderError as error:
        if embedder.identity == now.identity or isinstance(error, BudgetExceededError):
            raise
        raise type(error)(
            f"{error}; {embedder.identity} embedded the newest snapshot, {BACKFILL} embeds all anew by {now.identity}"
        ) from error


def _inherited(now: Recipe, before: Recipe, newest: Manifest) -> Recipe:
    inherited: dict[str, object] = {name: getattr(before, name) for name in _INHERITED}
    if before.follows or before.summaries != now.summaries:
        inherited["follows"] = newest.snapshot_id
    return now.model_copy(update=inherited)


def _same_sources(one: GenerationInputs, other: GenerationInputs) -> bool:
    return (one.sources, one.left_out) == (other.sources, other.left_out)


def _check(embedder: Embedder, versions: Versions) -> None:
    now = embedder_identity(embedder.settings(versions.settings.embedding))
    if now != embedder.identity:
        raise EmbeddingError(
            f"the newest snapshot was embedded by {embedder.identity}, which this version of the package no longer "
            f"has; {BACKFILL} embeds all anew"
        )
