"""What making the texts and vectors of the knowledge base anew would take.

The merge is rehearsed against the response store. A summary that is not stored there is imagined to be as long as it
may be, so that what is made of it, a summary of summaries or a vector, is counted at its most. How long earlier ones
were says little: it is mostly another prompt or model that asks for new ones.
"""

import duckdb

from lightrag_dagster.core.aio import run_sync
from lightrag_dagster.core.tokens import load_tokenizer
from lightrag_dagster.build.past import CountTokens, Range, question_tokens
from lightrag_dagster.build.plan import Remaking
from lightrag_dagster.spending.prices import price_of
from lightrag_dagster.build.rehearsal import Rehearsal, rehearse_merge
from lightrag_dagster.stages.documents.sources import find_sources
from lightrag_dagster.indexes.embedding_batches import batches
from lightrag_dagster.indexes.embedding import missing_texts
from lightrag_dagster.core.protocols import ChatRequest, ChatResponse
from lightrag_dagster.models.providers import chat_identity
from lightrag_dagster.stages.merging.inputs import MergeInput, merge_inputs
from lightrag_dagster.stages.merging.merge import Merged
from lightrag_dagster.storage.acceptance import wanted_inputs
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.responses import ResponseStore
from lightrag_dagster.storage.vectors import VectorStore
from lightrag_dagster.build.versions import Versions

_IMAGINED = "(a summary to come)"


def rehearse_remaking(versions: Versions, responses: ResponseStore) -> Remaking:
    """Merge what is accepted by today's recipe, and count what would have to be bought.

    Raises:
        SourceError: the sources cannot be listed.
        StoreError: the home is damaged.
    """
    settings, home = versions.settings, Home(versions.settings.home)
    counts = load_tokenizer(settings.chunking.encoding).counts
    llm, embedding = settings.llm.of("summarise"), settings.embedding
    model = _Imagining(chat_identity(llm), responses, counts, settings.merging.summary_max_tokens)
    inputs = merge_inputs(home, wanted_inputs(home, find_sources(settings), versions.generation))
    merged = run_sync(rehearse_merge(versions, inputs, model))
    calls = Range(len(model.certain), len(model.certain) + len(model.derived))
    asked = Range(sum(model.certain), sum(model.certain) + sum(model.derived))
    answered = Range(0, calls.high * settings.merging.summary_max_tokens)
    tables = _texts_to_embed(home, inputs, merged, versions.embedder)
    requests = sum(sum(1 for _ in batches(texts, embedding)) for texts in tables)
    embedded = Range(*(_tokens(tables, counts, embedding.max_input_tokens, imagined=both) for both in (False, True)))
    summary_price = price_of(llm.provider, llm.model, llm.prices)
    vector_price = price_of(embedding.provider, embedding.model, embedding.prices)
    return Remaking(
        known_price=summary_price.known and vector_price.known,
        summary_calls=calls,
        summary_input_tokens=asked,
        summary_output_tokens=answered,
        summaries=Range(*(summary_price.of(asked[end], answered[end]) for end in (0, 1))),
        embedding_calls=Range(requests, requests),
        embedding_tokens=embedded,
        embeddings=Range(*(vector_price.of(tokens, 0) for tokens in embedded)),
    )


class _Imagining(Rehearsal):
    """Answers what is not stored with a text as long as a summary may be.

    Tokens of each such question are in `certain`, or in `derived` when an imagined answer is part of it.
    """

    def __init__(self, identity: str, store: ResponseStore, count_tokens: CountTokens, longest: int) -> None:
        super().__init__(identity, store)
        self._count_tokens = count_tokens
        self._answer = _IMAGINED + " word" * longest
        self.certain: list[int] = []
        self.derived: list[int] = []

    def missing(self, request: ChatRequest) -> ChatResponse:
        derived = any(_IMAGINED in message.content for message in request.messages)
        (self.derived if derived else self.certain).append(question_tokens(request, self._count_tokens))
        return ChatResponse(self._answer)


def _texts_to_embed(home: Home, inputs: list[MergeInput], merged: Merged, identity: str) -> list[list[str]]:
    """Return for each vector table the distinct texts that have no vector in the store."""
    with VectorStore(home.vectors) as vectors, duckdb.connect() as connection:
        connection.read_parquet([str(one.chunks) for one in inputs]).create_view("chunks")
        connection.register("entities", merged.entities)
        connection.register("relations", merged.relations)
        return missing_texts(connection, identity, vectors.keys())


def _tokens(tables: list[list[str]], count_tokens: CountTokens, most: int, *, imagined: bool) -> int:
    texts = [text if imagined else text.split(_IMAGINED)[0] for table in tables for text in table]
    return sum(min(tokens, most) for tokens in count_tokens(texts))
