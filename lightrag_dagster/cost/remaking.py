"""What making the texts and vectors of the knowledge base anew would take.

The merge is rehearsed against the response store. A summary that is not stored there is imagined to be as long as it
may be, so that what is made of it, a summary of summaries or a vector, is counted at its most. How long earlier ones
were says little: it is mostly another prompt or model that asks for new ones.
"""

import duckdb

from lightrag_dagster.blocking import wait_for
from lightrag_dagster.chunking.tokenizer import load_tokenizer
from lightrag_dagster.cost.past import CountTokens, Range, question_tokens
from lightrag_dagster.cost.plan import Remaking
from lightrag_dagster.cost.prices import price_of
from lightrag_dagster.documents.sources import find_sources
from lightrag_dagster.embedding.batches import batches
from lightrag_dagster.embedding.vectors import texts_of_rows
from lightrag_dagster.llm.protocol import ChatRequest, ChatResponse
from lightrag_dagster.llm.providers import chat_identity
from lightrag_dagster.llm.stored import response_key
from lightrag_dagster.merging.inputs import MergeInput, merge_inputs
from lightrag_dagster.merging.merge import Merged, merge
from lightrag_dagster.stores.acceptance import wanted_inputs
from lightrag_dagster.stores.home import Home
from lightrag_dagster.stores.responses import ResponseStore
from lightrag_dagster.stores.vectors import VectorStore
from lightrag_dagster.versions import Versions

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
    merged = wait_for(
        merge(
            inputs,
            scratch=home.root,
            extraction_fingerprint=versions.extractions,
            embedder_identity=versions.embedder,
            model=model,
            prompts=versions.prompts,
            settings=settings.merging,
            count_tokens=counts,
            max_concurrency=1,
        )
    )
    calls = Range(len(model.certain), len(model.certain) + len(model.derived))
    asked = Range(sum(model.certain), sum(model.certain) + sum(model.derived))
    answered = Range(0, calls.high * settings.merging.summary_max_tokens)
    tables = _missing_texts(home, inputs, merged, versions.embedder)
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


class _Imagining:
    """Stands in for the model: answers from the response store, or with a text as long as a summary may be.

    Tokens of each question that is not stored are in `certain`, or in `derived` when an imagined answer is part of it.
    """

    def __init__(self, identity: str, store: ResponseStore, count_tokens: CountTokens, longest: int) -> None:
        self._store = store
        self._count_tokens = count_tokens
        self._answer = _IMAGINED + " word" * longest
        self.identity = identity
        self.certain: list[int] = []
        self.derived: list[int] = []

    async def complete(self, request: ChatRequest) -> ChatResponse:
        stored = self._store.get_many([response_key(self.identity, request)])
        if stored:
            return next(iter(stored.values()))
        derived = any(_IMAGINED in message.content for message in request.messages)
        (self.derived if derived else self.certain).append(question_tokens(request, self._count_tokens))
        return ChatResponse(self._answer)


def _missing_texts(home: Home, inputs: list[MergeInput], merged: Merged, identity: str) -> list[list[str]]:
    """Return for each vector table the distinct texts that have no vector in the store."""
    with VectorStore(home.vectors) as vectors, duckdb.connect() as connection:
        connection.read_parquet([str(one.chunks) for one in inputs]).create_view("chunks")
        connection.register("entities", merged.entities)
        connection.register("relations", merged.relations)
        known = vectors.keys()
        return [
            [text for key, text in rows.items() if key not in known]
            for rows in texts_of_rows(connection, identity).values()
        ]


def _tokens(tables: list[list[str]], count_tokens: CountTokens, most: int, *, imagined: bool) -> int:
    texts = [text if imagined else text.split(_IMAGINED)[0] for table in tables for text in table]
    return sum(min(tokens, most) for tokens in count_tokens(texts))
