"""What of the response store and the vector store is still of use, and removing the rest.

Of use is what a clean build of the sources, with today's prompts, models and settings, would ask for, and every vector
of a generation that is kept. Kept snapshots hold their own rows, and need no answer to be opened or published again.
"""

from dataclasses import dataclass

from lightrag_dagster.build.rehearsal import Rehearsal, rehearse_merge
from lightrag_dagster.build.versions import Versions
from lightrag_dagster.core.aio import run_sync
from lightrag_dagster.core.protocols import ChatRequest, ChatResponse
from lightrag_dagster.core.tokens import load_tokenizer
from lightrag_dagster.errors import PermanentProviderError
from lightrag_dagster.indexes.embedding import embedded_fingerprints
from lightrag_dagster.models.providers import chat_identity
from lightrag_dagster.models.stored import response_key
from lightrag_dagster.settings import Settings
from lightrag_dagster.stages.documents.sources import find_sources
from lightrag_dagster.stages.extraction.extractions import Extractor, extract
from lightrag_dagster.stages.merging.inputs import merge_inputs
from lightrag_dagster.storage.acceptance import wanted_inputs
from lightrag_dagster.storage.generations import Generation
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.responses import ResponseStore
from lightrag_dagster.storage.tables import SourceTables
from lightrag_dagster.storage.vectors import VectorStore


@dataclass(frozen=True)
class Pruned:
    """How many responses and vectors were, or would be, removed, of how many."""

    responses: int
    responses_before: int
    vectors: int
    vectors_before: int


def prune(settings: Settings, *, dry_run: bool) -> Pruned:
    """Remove what is of no use any more. Call it while holding the builder's lock.

    What arrives meanwhile stays. Questions that people asked are of no use to a build: their keywords, answers and
    vectors go, and are paid for again when they are asked again.

    Raises:
        SourceError: the sources cannot be listed.
        StoreError: the home is damaged, or the disk refuses.
    """
    home = Home(settings.home)
    with ResponseStore(home.responses) as responses, VectorStore(home.vectors) as vectors:
        answers, numbers = responses.keys(), vectors.keys()
        useless_answers = answers - run_sync(_wanted_responses(settings, home, responses))
        useless_numbers = numbers - _wanted_vectors(settings, home)
        if not dry_run:
            responses.remove(useless_answers)
            vectors.remove(useless_numbers)
    return Pruned(len(useless_answers), len(answers), len(useless_numbers), len(numbers))


class _Stored(Rehearsal):
    """Has no answer but the stored ones, and notes under which keys it was asked."""

    def __init__(self, identity: str, store: ResponseStore) -> None:
        super().__init__(identity, store)
        self.keys: set[str] = set()

    async def complete(self, request: ChatRequest) -> ChatResponse:
        self.keys.add(response_key(self.identity, request))
        return await super().complete(request)

    def missing(self, request: ChatRequest) -> ChatResponse:
        # Not a transient one: a build goes on with an answer that was cut off when the model refuses more room.
        raise PermanentProviderError("not stored")


async def _wanted_responses(settings: Settings, home: Home, store: ResponseStore) -> set[str]:
    """Go through a clean build as far as stored answers lead, and return what it asks for."""
    versions, tables = Versions.of(settings), SourceTables(home)
    tokenizer, sources = load_tokenizer(settings.chunking.encoding), list(find_sources(settings))
    llm = settings.llm.of("extract")
    extracting = _Stored(chat_identity(llm), store)
    for source in sources:
        if tables.current("chunks", source) is None:
            continue
        extractor = Extractor(
            extracting,
            versions.prompts,
            settings.extraction,
            versions.extractions,
            tokenizer.count,
            longer_outputs=llm.longer_outputs,
        )
        await extract(source, tables.read("chunks", source), extractor)
    summarising = _Stored(chat_identity(settings.llm.of("summarise")), store)
    inputs = merge_inputs(home, wanted_inputs(home, sources, versions.generation))
    await rehearse_merge(versions, inputs, summarising)
    return extracting.keys | summarising.keys


def _wanted_vectors(settings: Settings, home: Home) -> set[str]:
    embedder = Versions.of(settings).embedder
    generations = (Generation(home, path.name) for path in home.generations.glob("gen-*"))
    return set().union(*(embedded_fingerprints(generation, embedder) for generation in generations))
