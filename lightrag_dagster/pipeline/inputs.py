"""The inputs of the next merge, and what of the newest snapshot another recipe than today's made."""

from dataclasses import dataclass

from lightrag_dagster.curation.rules import CURATION, additions_of
from lightrag_dagster.errors import DecisionError, EmbeddingError, SettingsError
from lightrag_dagster.models.providers import embedder_identity, settings_of
from lightrag_dagster.pipeline.recipes import Recipes
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.storage import home_format
from lightrag_dagster.storage.manifests import EmbedderRecord, GenerationInputs
from lightrag_dagster.storage.snapshots.generations import Generation

BACKFILL = "`lightrag-dagster backfill --knowledge-base`"
"""The command that makes outdated summaries and vectors again."""


@dataclass(frozen=True)
class Outdated:
    """Outdated rows of the knowledge base: how many summaries another recipe made, and whether the vectors are.

    `failed` is the number of summaries that failed.
    """

    summaries: int = 0
    vectors: bool = False
    failed: int = 0

    @property
    def names(self) -> list[str]:
        """Those of `summaries` and `vectors` that are outdated."""
        return [name for name in ("summaries", "vectors") if getattr(self, name)]

    @property
    def made_again(self) -> list[str]:
        """The parts that a backfill makes again: those that are outdated, and summaries that failed."""
        return [*self.names, "failed summaries"] if self.failed else self.names


def next_inputs(situation: Situation, *, backfill: bool = False) -> GenerationInputs:
    """Return the inputs of a merge now.

    Args:
        situation: The situation of the home.
        backfill: Embed with today's embedder, not with that of the newest snapshot, also of another layout.

    Raises:
        DecisionError: a decision cannot be read, or two of them cannot both hold.
        EmbeddingError: the embedder of the newest snapshot cannot be opened any more, and there is something to merge.
        SourceError: the sources cannot be listed.
        StoreError: the home is damaged.
    """
    recipes, decided, records = situation.recipes, situation.decided, situation.accepted
    if decided.curation.added and CURATION in situation.absent:
        raise DecisionError(f"added entities cannot be merged while {situation.absent[CURATION]}")
    inputs = recipes.generation_inputs(
        {source: situation.merged(source) for source in records}
        | additions_of(decided.curation, situation.settings.chunking.encoding)
    ).model_copy(update={"decisions": decided.version})
    newest = situation.newest
    kept = _embedder_kept(situation)
    if kept is None:
        return inputs
    if situation.home.scope or not backfill or kept.identity == inputs.embedder.identity:
        inputs = inputs.model_copy(update={"embedder": kept})
    if newest is None or inputs != newest.inputs:
        _check_embedder(inputs.embedder, recipes)
    return inputs


def _embedder_kept(situation: Situation) -> EmbedderRecord | None:
    """Return the embedder of the newest snapshot, also of another layout; a scope has that of the home above it.

    An offline embedder is taken at today's version, since new vectors cost nothing.
    """
    newest = situation.above or situation.newest
    left = None if newest else home_format.left(situation.home)
    kept = newest.inputs.embedder if newest else left.embedder if left else None
    if kept is None or kept.provider != "offline":
        return kept
    return kept.model_copy(update={"identity": embedder_identity(kept.settings(situation.settings.embedding))})


def next_publication(situation: Situation, *, backfill: bool = False) -> GenerationInputs | None:
    """Return the inputs of a merge, or None if the newest snapshot was made from them; raises as `next_inputs`.

    A backfill also merges when the snapshot has outdated or failed summaries.
    """
    newest, inputs = situation.newest, next_inputs(situation, backfill=backfill)
    if newest is None:
        return inputs if inputs.sources else None
    generation = Generation(situation.home, newest.snapshot_id)
    done = newest.inputs == inputs and not (backfill and summaries_to_make(generation, situation.recipes))
    return None if done else inputs


def outdated(situation: Situation) -> Outdated:
    """Return what another recipe than today's made of the newest snapshot; raises StoreError."""
    newest, recipes = situation.newest, situation.recipes
    if newest is None:
        return Outdated()
    generation = Generation(situation.home, newest.snapshot_id)
    kept = _embedder_kept(situation)
    vectors = kept is not None and kept.identity != recipes.embedder
    return Outdated(outdated_summaries(generation, recipes), vectors, generation.record().failed_summaries)


def summaries_to_make(generation: Generation, recipes: Recipes) -> bool:
    """Return True if a backfill makes summaries of a generation again, or some failed; raises StoreError."""
    return outdated_summaries(generation, recipes) + generation.record().failed_summaries > 0


def failed_summaries(generation: Generation) -> list[str]:
    """Return a line on the summaries of a generation that failed, if there are some; raises StoreError."""
    failed = generation.record().failed_summaries
    what = "failed, so that the descriptions of these entities and relations are joined"
    return [f"{failed:,} summaries {what}; {BACKFILL} asks for them again"] if failed else []


def _check_embedder(embedder: EmbedderRecord, recipes: Recipes) -> None:
    try:
        now = embedder_identity(settings_of(embedder, recipes.settings.embedding))
    except SettingsError as error:
        raise EmbeddingError(
            f"{error}; {embedder.identity} embedded the newest snapshot, {BACKFILL} embeds with {recipes.embedder}"
        ) from error
    if now != embedder.identity:
        raise EmbeddingError(
            f"the newest snapshot was embedded by {embedder.identity}, which this version of the package lacks; "
            f"{BACKFILL} embeds with {recipes.embedder}"
        )


def outdated_summaries(generation: Generation, recipes: Recipes) -> int:
    """Return the number of summaries of a generation that another recipe than today's made; raises StoreError."""
    return sum(rows for recipe, rows in generation.record().summaries.items() if recipe != recipes.summaries)
