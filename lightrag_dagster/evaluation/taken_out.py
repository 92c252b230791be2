"""Questions without a model: sentences taken out of chunks, whose chunks without them should still be found.

The inverse cloze task of Lee, Chang and Toutanova, "Latent Retrieval for Weakly Supervised Open Domain Question
Answering" (ACL 2019), with half of the words. A sentence that still stood in its chunk would be found by its words.
"""

import re
from collections.abc import Iterator
from hashlib import sha256
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.core import identity
from lightrag_dagster.core.temporary import temporary_folder
from lightrag_dagster.core.text.terms import MARKS, stop_words
from lightrag_dagster.core.text.tokens import Tokenizer, load_tokenizer
from lightrag_dagster.evaluation.evaluation import evaluate
from lightrag_dagster.evaluation.questions import FiledQuestion
from lightrag_dagster.evaluation.sample import Sample, take_sample
from lightrag_dagster.evaluation.temporary import TemporaryHome
from lightrag_dagster.offline import sentences
from lightrag_dagster.pipeline.situation import Situation
from lightrag_dagster.schemas import CHUNKS
from lightrag_dagster.settings import Settings

_LEAST_WORDS = 6
_LEAST_REST = 100
"""Characters that a chunk must have beside the sentence."""

# Words, and pairs of characters in scripts without spaces.
_LETTERS = r"[^\W_\u3040-\u30ff\u3400-\u9fff]"
_WORD = re.compile(rf"[\u3040-\u30ff\u3400-\u9fff]{{1,2}}|{_LETTERS}+(?:[{MARKS}]+{_LETTERS}*)*")


class TakenOut(NamedTuple):
    """Rows of CHUNKS without some sentences, by source, and the questions made of these; their gold is chunks."""

    chunks: dict[str, pa.Table]
    questions: list[FiledQuestion]


def take_out(sample: Sample, count: int, tokenizer: Tokenizer) -> TakenOut:
    """Take up to `count` sentences out of the chunks of a sample, one of a chunk.

    Chunks and sentences are chosen by a hash of their text, so that they are the same each time, and change little with
    the documents. A chunk that two documents share, or has no sentence of six words and 100 characters beside
    it, gives none.
    """
    edited = {source: _Edited(tables["chunks"]) for source, tables in sample.tables.items()}
    rows = [(chunk, source, row) for source, one in edited.items() for row, chunk in enumerate(one.ids)]
    rows.sort(key=lambda one: (_hash(one[0]), one[0]))
    copies = pc.value_counts(pa.array([chunk for chunk, _, _ in rows], pa.string())).to_pylist()
    several = {one["values"] for one in copies if one["counts"] > 1}
    taken: dict[str, tuple[str, list[int]]] = {}
    for chunk, source, row in rows:
        if len(taken) == count:
            break
        if chunk in several or row in edited[source].changed:
            continue
        for sentence in _in_order(edited[source].contents[row]):
            question = _half(sentence)
            if question not in taken and (without := edited[source].take(sentence, row)):
                taken[question] = source, without
                break
    made = {source: one.table(tokenizer) for source, one in edited.items()}
    ids = {source: table["chunk_id"].to_pylist() for source, table in made.items()}
    questions = [
        FiledQuestion(question=question, chunks=[ids[source][row] for row in without])
        for question, (source, without) in taken.items()
    ]
    return TakenOut(made, questions)


class Measurement(NamedTuple):
    """The questions, their EVALUATED_QUESTIONS, and the numbers of what was searched, and of all chunks."""

    questions: list[FiledQuestion]
    rows: pa.Table
    documents: int
    chunks: int
    all_chunks: int


def measure_taken_out(settings: Settings, count: int, documents: int, run: str) -> Measurement:
    """Measure the modes by sentences taken out of a copy of up to `documents` documents of a home.

    The copy is built in a temporary home by the stores of the home: only what changed is extracted and embedded. The
    calls are those of a `run`.

    Raises:
        StoreError: nothing was ingested yet, or a table is damaged.
        ProviderAccessError: a model cannot be used, or the budget is spent.
    """
    sample = take_sample(Situation.looking(settings), documents)
    taken = take_out(sample, count, load_tokenizer(settings.chunking.encoding))
    with temporary_folder("lightrag-questions-") as folder:
        copy = TemporaryHome(settings, folder, run)
        for source, rows in sample.tables.items():
            copy.ingest(source, rows["raw_documents"], taken.chunks[source])
        copy.publish()
        with copy.open() as knowledge:
            rows = evaluate(knowledge, taken.questions)
    return Measurement(taken.questions, rows, sample.count("raw_documents"), sample.count("chunks"), sample.all_chunks)


class _Edited:
    """The chunks of a source, out of which sentences are taken."""

    def __init__(self, chunks: pa.Table) -> None:
        self._chunks = chunks
        self.ids: list[str] = chunks["chunk_id"].to_pylist()
        self.contents: list[str] = chunks["content"].to_pylist()
        self.changed: set[int] = set()

    def take(self, sentence: str, row: int) -> list[int]:
        """Take a sentence out of all chunks of the document that have it; return their rows, none if one is too short.

        Chunks overlap, so that a sentence may stand in two of them.
        """
        text = re.compile(r"\s+".join(map(re.escape, sentence.split())))
        of_document = pc.equal(self._chunks["doc_id"], self._chunks["doc_id"][row])
        found: dict[int, str] = {}
        for other in pc.indices_nonzero(of_document).to_pylist():
            rest, times = text.subn("", self.contents[other])
            if times and len(rest.strip()) < _LEAST_REST:
                return []
            if times:
                found[other] = rest
        if row not in found:
            return []
        for other, rest in found.items():
            self.contents[other] = rest
        self.changed |= found.keys()
        return list(found)

    def table(self, tokenizer: Tokenizer) -> pa.Table:
        """Return the rows of CHUNKS with their texts, ids and lengths now."""
        chunks = self._chunks
        places = zip(self.contents, chunks["heading"].to_pylist(), chunks["context"].to_pylist(), strict=True)
        changes = {
            "chunk_id": [
                identity.chunk_id(*place) if row in self.changed else self.ids[row] for row, place in enumerate(places)
            ],
            "content": self.contents,
            "tokens": tokenizer.counts(self.contents),
        }
        return pa.table({**dict(zip(chunks.column_names, chunks.columns, strict=True)), **changes}, schema=CHUNKS)


def _in_order(content: str) -> Iterator[str]:
    """Yield the long sentences of a text, in the order of a hash."""
    prose = (one.text for one in sentences(content) if not one.level)
    yield from sorted((one for one in prose if len(_words(one)) >= _LEAST_WORDS), key=_hash)


def _half(sentence: str) -> str:
    """Return half of the words of a sentence that carry its topic, in their order; which ones, a hash decides."""
    words = _words(sentence)
    kept = set(sorted(range(len(words)), key=lambda at: (_hash(words[at]), at))[: (len(words) + 1) // 2])
    return " ".join(word for at, word in enumerate(words) if at in kept)


def _words(sentence: str) -> list[str]:
    return [word for word in _WORD.findall(sentence) if word.casefold() not in stop_words()]


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()
