"""What the next run would do and cost, found out without asking a model and without writing anything.

Extraction is not guessed at but rehearsed: the driver runs against the response store alone, and what is not stored
there is counted with the model's tokenizer. What follows from answers that nobody has yet (how long they are, what is
gleaned, summarised and embedded) is taken from this home's own past, else from a range.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.build.past import CountTokens, Past, Range, question_tokens
from lightrag_dagster.build.rehearsal import Rehearsal
from lightrag_dagster.core.protocols import ChatRequest, ChatResponse
from lightrag_dagster.errors import TransientProviderError
from lightrag_dagster.settings import Settings
from lightrag_dagster.spending.prices import BATCH_SHARE, price_of
from lightrag_dagster.stages.extraction.extractions import Extractor, extract
from lightrag_dagster.stages.prompts import Prompts
from lightrag_dagster.storage.responses import ResponseStore

_NOT_STORED = "not stored"


@dataclass(frozen=True)
class Documents:
    """How a source's documents differ from those that were ingested last."""

    added: int
    changed: int
    removed: int


@dataclass
class SourcePlan:
    """What a run would do for one source. Tokens are of first-round questions that are not stored, counted exactly."""

    source: str
    documents: Documents
    chunks_new: int = 0
    chunks_stored: int = 0
    chunks_failed: int = 0
    question_tokens: int = 0


@dataclass(frozen=True)
class Remaking:
    """Calls, tokens and US dollars of summaries and vectors that are not stored, each at least and at most."""

    known_price: bool
    summary_calls: Range
    summary_input_tokens: Range
    summary_output_tokens: Range
    summaries: Range
    embedding_calls: Range
    embedding_tokens: Range
    embeddings: Range

    def at_most(self) -> "Remaking":
        """Return it for mentions that will be others, so that nothing of it is certain."""
        most = {name: Range(0, value.high) for name, value in vars(self).items() if isinstance(value, Range)}
        return Remaking(known_price=self.known_price, **most)


@dataclass
class Plan:
    """What a run would do for all sources. Costs are US dollars; `history` says whether this home's past was used.

    `remaking` is for the summaries and vectors of the knowledge base, if the run makes them anew.
    """

    sources: list[SourcePlan]
    history: bool
    known_price: bool
    calls: Range
    input_tokens: Range
    output_tokens: Range
    extraction: Range
    extraction_by_batch: Range
    summaries: Range
    embeddings: Range
    remaking: Remaking | None = None

    @property
    def total(self) -> Range:
        """Cost of the run in real time."""
        return self.extraction.plus(self._after_extraction)

    @property
    def total_by_batch(self) -> Range:
        """Cost of the run with extraction by the provider's Batch API."""
        return self.extraction_by_batch.plus(self._after_extraction)

    @property
    def _after_extraction(self) -> Range:
        after = self.summaries.plus(self.embeddings)
        return after.plus(self.remaking.summaries).plus(self.remaking.embeddings) if self.remaking else after

    def to_dict(self) -> dict[str, Any]:
        """Return it as dictionaries and numbers that `json.dumps` takes; a range is a list of two."""
        return asdict(self) | {"total": self.total, "total_by_batch": self.total_by_batch}


class ExtractionRehearsal(Rehearsal):
    """Counts the tokens of what it would have to buy, a number a question."""

    def __init__(self, identity: str, store: ResponseStore, count_tokens: CountTokens) -> None:
        super().__init__(identity, store)
        self._count_tokens = count_tokens
        self.first_rounds: list[int] = []
        self.later_rounds: list[int] = []

    def missing(self, request: ChatRequest) -> ChatResponse:
        """Raise TransientProviderError, which the row of the chunk then shows."""
        tokens = question_tokens(request, self._count_tokens)
        first = all(message.role != "assistant" for message in request.messages)
        (self.first_rounds if first else self.later_rounds).append(tokens)
        raise TransientProviderError(_NOT_STORED)


def compare(previous: pa.Table | None, current: pa.Table) -> Documents:
    """Compare two versions of RAW_DOCUMENTS by path and content."""
    before = _contents(previous) if previous is not None else {}
    after = _contents(current)
    common = before.keys() & after.keys()
    return Documents(
        added=len(after.keys() - common),
        changed=sum(before[path] != after[path] for path in common),
        removed=len(before.keys() - common),
    )


def _contents(documents: pa.Table) -> dict[str, str]:
    return dict(zip(documents["path"].to_pylist(), documents["content_hash"].to_pylist(), strict=True))


async def rehearse(
    source: str,
    documents: Documents,
    chunks: pa.Table,
    model: ExtractionRehearsal,
    prompts: Prompts,
    settings: Settings,
    fingerprint: str,
    answered: pa.Table,
    count_tokens: Callable[[str], int],
) -> SourcePlan:
    """Run the extraction of one source's chunks (CHUNKS) against the response store and say what it would buy."""
    llm = settings.llm.of("extract")
    asked = len(model.first_rounds)
    extractor = Extractor(
        model, prompts, settings.extraction, fingerprint, count_tokens, longer_outputs=llm.longer_outputs
    )
    rows = pa.concat_tables([answered, await extract(source, chunks, extractor)])
    unanswered = rows.filter(pc.equal(rows["status"], "failed"))["error"].to_pylist()
    new = unanswered.count(_NOT_STORED)
    return SourcePlan(
        source,
        documents,
        chunks_new=new,
        chunks_stored=rows.num_rows - len(unanswered),
        chunks_failed=len(unanswered) - new,
        question_tokens=sum(model.first_rounds[asked:]),
    )


def estimate(sources: list[SourcePlan], later_rounds: Sequence[int], past: Past, settings: Settings) -> Plan:
    """Add up the sources and put a price on it.

    Args:
        sources: what each source's rehearsal found.
        later_rounds: tokens of questions after the first whose answers are not stored though the first's is.
        past: what this home, or any home, makes of a question.
        settings: models and prices.
    """
    llm = settings.llm.of("extract")
    price = price_of(llm.provider, llm.model, llm.prices)
    embedding = price_of(settings.embedding.provider, settings.embedding.model, settings.embedding.prices)
    new = sum(source.chunks_new for source in sources)
    questions = sum(source.question_tokens for source in sources)
    later = sum(later_rounds)
    calls = past.calls_a_chunk.times(new).plus(Range(len(later_rounds), len(later_rounds)))
    input_tokens = past.input_a_question_token.times(questions).plus(Range(later, later))
    output_tokens = past.output_a_question_token.times(questions + later)
    extraction = Range(*(price.of(input_tokens[end], output_tokens[end]) for end in (0, 1)))
    embedded = past.embedded_a_chunk.times(new)
    return Plan(
        sources=sources,
        history=past.known,
        known_price=price.known and embedding.known,
        calls=calls,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        extraction=extraction,
        extraction_by_batch=extraction.times(BATCH_SHARE),
        summaries=Range(*(extraction[end] * past.summary_share[end] for end in (0, 1))),
        embeddings=Range(*(embedding.of(embedded[end], 0) for end in (0, 1))),
    )
