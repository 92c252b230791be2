"""The Arrow schema of every table, documented field by field.

The descriptions are field metadata: they reach the Dagster UI as the table schema. Key columns come first; rows are
sorted by them. No table holds a wall clock except `raw_documents.modified_at`.
"""

import pyarrow as pa


def _field(name: str, kind: pa.DataType, description: str, *, nullable: bool = False) -> pa.Field:
    return pa.field(name, kind, nullable=nullable, metadata={"description": description})


_TEXTS = pa.list_(pa.string())
_ELEMENTS = pa.list_(
    pa.struct([("kind", pa.string()), ("start", pa.int64()), ("end", pa.int64()), ("caption", pa.string())])
)

_SOURCE = _field("source", pa.string(), "The source (Dagster partition) the row belongs to.")
_CHUNK = _field("chunk_id", pa.string(), "chunk- and a hash of the text, heading and context that reach the prompt.")
_KEY = _field(
    "extraction_key", pa.string(), "Hash of chunk, prompts, model, parameters, and language if it is the document's."
)
_MENTION = _field("mention_index", pa.int32(), "Position of the record in the chunk's parsed responses.")

RAW_DOCUMENTS = pa.schema(
    [
        _SOURCE,
        _field("doc_id", pa.string(), "doc- and a hash of source and path."),
        _field("path", pa.string(), "Path relative to the source, with forward slashes."),
        _field("title", pa.string(), "The document's own title, else its file name."),
        _field("content", pa.string(), "Sanitised text; empty unless processed, duplicate or stale."),
        _field("content_hash", pa.string(), "Hash of the sanitised text; the document's version."),
        _field("content_length", pa.int64(), "Length of the text. Characters."),
        _field("summary", pa.string(), "The first 250 characters."),
        _field("media_type", pa.string(), "Of the file's format; application/octet-stream if it has none of ours."),
        _field("pages", pa.list_(pa.int64()), "First character of each page, where pages exist.", nullable=True),
        _field("elements", _ELEMENTS, "Tables and figures; `document_elements` is a view of them.", nullable=True),
        _field("author", pa.string(), "Who wrote it, as the document says.", nullable=True),
        _field("date", pa.date32(), "When it was written, as the document says.", nullable=True),
        _field("tags", _TEXTS, "Tags and keywords of the document.", nullable=True),
        _field("language", pa.string(), "ISO 639 code, as detected, else as the document says.", nullable=True),
        _field("status", pa.string(), "processed, duplicate, failed, skipped, empty, disabled or stale."),
        _field("duplicate_of", pa.string(), "doc_id with the same text and a smaller path.", nullable=True),
        _field(
            "error",
            pa.string(),
            "Why it has no text or is stale, or what of it is doubtful or missing.",
            nullable=True,
        ),
        _field("recipe", pa.string(), "Model and prompt that its images were described by; a hash.", nullable=True),
        _field("modified_at", pa.timestamp("us", "UTC"), "When the file was last modified."),
    ]
)

CHUNKS = pa.schema(
    [
        _SOURCE,
        _CHUNK,
        _field("doc_id", pa.string(), "The document the chunk stands in."),
        _field("path", pa.string(), "Path of that document."),
        _field("chunk_index", pa.int32(), "Position of the chunk in the document, from 0."),
        _field("content", pa.string(), "The text: document[char_start:char_end]."),
        _field("tokens", pa.int32(), "Length of the text. Tokens."),
        _field("char_start", pa.int64(), "First character in the document."),
        _field("char_end", pa.int64(), "One past the last character."),
        _field("heading", pa.string(), "Heading path in force where the chunk starts.", nullable=True),
        _field(
            "context",
            pa.string(),
            "What else of the document it needs: headings above it, header of its table. Part of prompt and vector.",
            nullable=True,
        ),
        _field("page", pa.int32(), "Page the chunk starts on, where pages exist.", nullable=True),
        _field("page_end", pa.int32(), "Page it ends on; null if an older version cut it.", nullable=True),
        _field("text_hash", pa.string(), "Hash of the document's text and media type, from which the chunk was cut."),
        _field("recipe", pa.string(), "Recipe of the chunker that cut it: its settings and revision."),
    ]
)

EXTRACTIONS = pa.schema(
    [
        _SOURCE,
        _CHUNK,
        _KEY,
        _field("model", pa.string(), "Identity of the model that answered."),
        _field("responses", _TEXTS, "Raw responses: the first, then one a gleaning round."),
        _field("rounds", pa.int32(), "Number of responses."),
        _field("status", pa.string(), "ok, truncated or failed."),
        _field("error", pa.string(), "Why the extraction failed.", nullable=True),
        _field(
            "error_kind",
            pa.string(),
            "transient: the next run asks again; permanent: only another key does, or llm.retry_failed.",
            nullable=True,
        ),
        _field("finish_reason", pa.string(), "Of the last response.", nullable=True),
        _field("input_tokens", pa.int64(), "What the stored responses took in when bought. Tokens."),
        _field("cached_input_tokens", pa.int64(), "What of it the provider had in its cache. Tokens."),
        _field("output_tokens", pa.int64(), "What they put out. Tokens."),
        _field("cost_usd", pa.float64(), "What they cost. US dollars."),
        _field("recipe", pa.string(), "Recipe that made the row: prompts, model and parameters."),
    ]
)

ENTITY_MENTIONS = pa.schema(
    [
        _SOURCE,
        _CHUNK,
        _KEY,
        _MENTION,
        _field("name", pa.string(), "Name as extracted, normalised."),
        _field("type", pa.string(), "Entity type, lower case."),
        _field("description", pa.string(), "What the chunk says of the entity."),
    ]
)

RELATION_MENTIONS = pa.schema(
    [
        _SOURCE,
        _CHUNK,
        _KEY,
        _MENTION,
        _field("src", pa.string(), "Name of the first endpoint as extracted."),
        _field("tgt", pa.string(), "Name of the second endpoint as extracted."),
        _field("keywords", pa.string(), "Comma-separated keywords."),
        _field("description", pa.string(), "What the chunk says of the relation."),
        _field("weight", pa.float64(), "1 unless the response gave a strength."),
    ]
)

PARSED = pa.schema(
    [
        _SOURCE,
        _CHUNK,
        _KEY,
        _field("entities", pa.int32(), "Entity mentions that the responses yield."),
        _field("relations", pa.int32(), "Relation mentions that they yield."),
        _field("rejected_rows", pa.int32(), "Rows of all rounds that are meant as a record and yield none."),
        _field("reason", pa.string(), "The most frequent reason, one of few texts; null if none.", nullable=True),
    ]
)

_PROVENANCE = [
    _field(
        "chunk_ids",
        _TEXTS,
        "Distinct chunks that mention it, in canonical order; at most `merging.max_chunks_per_entity`, "
        "`…_relation`, taken in turn over sources.",
    ),
    _field("doc_ids", _TEXTS, "Documents that hold a chunk that mentions it, sorted; as many at most, in turn too."),
    _field("file_paths", _TEXTS, "source/path of those documents, sorted."),
    _field("sources", _TEXTS, "Sources of all documents that hold a chunk that mentions it, sorted."),
    _field("mention_count", pa.int64(), "All mentions; 0 for an entity only relations name."),
    _field("chunk_count", pa.int64(), "All distinct chunks that mention it."),
    _field("document_count", pa.int64(), "All documents that hold one of these chunks."),
    _field(
        "capped",
        pa.bool_(),
        "Whether there are more chunks or documents than listed; descriptions and keywords are of the chunks listed.",
    ),
]

_SUMMARY_RECIPE = _field(
    "summary_recipe",
    pa.string(),
    "Hash of prompt, model and settings of the summary; null where descriptions are joined.",
    nullable=True,
)

_FINGERPRINTS = [
    _field("text_fingerprint", pa.string(), "Hash of the descriptions that the description is made from."),
    _field("embedding_fingerprint", pa.string(), "Hash of the embedded text and the embedding model."),
    _field("row_fingerprint", pa.string(), "Hash of every other column."),
]

ENTITIES = pa.schema(
    [
        _field("entity_id", pa.string(), "ent- and a hash of the normalised name."),
        _field("name", pa.string(), "Most frequent spelling."),
        _field("type", pa.string(), "Most frequent type; unknown when only relations name the entity."),
        _field("description", pa.string(), "Distinct descriptions joined by `<SEP>`, or their summary."),
        _SUMMARY_RECIPE,
        *_PROVENANCE,
        _field("degree", pa.int64(), "Relations that end here."),
        *_FINGERPRINTS,
    ]
)

RELATIONS = pa.schema(
    [
        _field("relation_id", pa.string(), "rel- and a hash of the sorted pair of entity ids."),
        _field("src_id", pa.string(), "Endpoint with the smaller entity id."),
        _field("tgt_id", pa.string(), "Endpoint with the larger entity id."),
        _field("src", pa.string(), "Display name of src_id."),
        _field("tgt", pa.string(), "Display name of tgt_id."),
        _field("keywords", pa.string(), "Distinct keywords of the chunks listed, sorted, comma-separated."),
        _field("description", pa.string(), "Distinct descriptions joined by `<SEP>`, or their summary."),
        _SUMMARY_RECIPE,
        _field("weight", pa.float64(), "Sum of the weights of all mentions."),
        *_PROVENANCE,
        _field("rank", pa.int64(), "Sum of the degrees of both endpoints."),
        *_FINGERPRINTS,
    ]
)

_EVIDENCE = [
    _CHUNK,
    _field("mention_index", pa.int32(), "Position of the mention in the chunk's parsed responses."),
    _field("source", pa.string(), "Source of the chunk's first canonical position."),
    _field("doc_id", pa.string(), "Document of that position."),
    _field("path", pa.string(), "Path of that document."),
    _KEY,
]

ENTITY_EVIDENCE = pa.schema(
    [
        _field("entity_id", pa.string(), "The merged entity."),
        *_EVIDENCE,
        _field("name", pa.string(), "Name as extracted."),
        _field("type", pa.string(), "Type as extracted."),
        _field("description", pa.string(), "Description as extracted."),
    ]
)

RELATION_EVIDENCE = pa.schema(
    [
        _field("relation_id", pa.string(), "The merged relation."),
        *_EVIDENCE,
        _field("src", pa.string(), "First endpoint as extracted."),
        _field("tgt", pa.string(), "Second endpoint as extracted."),
        _field("keywords", pa.string(), "Keywords as extracted."),
        _field("description", pa.string(), "Description as extracted."),
        _field("weight", pa.float64(), "Weight as extracted."),
    ]
)

ANSWERS = pa.schema(
    [
        _field("question", pa.string(), "The question as asked."),
        _field("mode", pa.string(), "Retrieval mode."),
        _field("answer", pa.string(), "The answer; empty when there is none."),
        _field("references", _TEXTS, "source/path of each reference, best first."),
        _field("cited", _TEXTS, "source/path of those that the answer cites, best first."),
        _field("snapshot_id", pa.string(), "The snapshot that was asked; one with the same context is not."),
        _field("request_key", pa.string(), "Hash of the model and all messages that it saw; empty without an answer."),
        _field("error", pa.string(), "Why there is no answer.", nullable=True),
    ]
)

_EVALUATED = [
    _field("sequence", pa.int32(), "Number of the snapshot, 1 for the first of the home."),
    _field("snapshot_id", pa.string(), "The snapshot that was asked."),
    _field("mode", pa.string(), "Retrieval mode."),
]

EVALUATED_QUESTIONS = pa.schema(
    [
        *_EVALUATED,
        _field("question", pa.string(), "The question as filed."),
        _field("question_key", pa.string(), "Hash of the question, what should be found for it, and k."),
        _field("recall", pa.float64(), "Share of what should be found among the first k chunks."),
        _field("recall_at_2", pa.float64(), "The same among the first two.", nullable=True),
        _field("precision", pa.float64(), "Share of the first k chunks that hold something of it."),
        _field("mrr", pa.float64(), "One over the rank of the first such chunk; 0 without any."),
        _field("ndcg", pa.float64(), "What was found, discounted by rank, over the ideal."),
        _field("context_tokens", pa.int64(), "Length of the context that a model would see. Tokens."),
        _field("milliseconds", pa.float64(), "How long retrieval took, embedding included, keywords apart."),
        _field("answer", pa.string(), "The answer, in modes whose answers are judged.", nullable=True),
        _field("exact_match", pa.float64(), "1 if it is the known answer, else 0.", nullable=True),
        _field("f1", pa.float64(), "Overlap of its words with those of the known answer.", nullable=True),
        _field("faithfulness", pa.float64(), "How far the context supports it, says a model; 0 to 1.", nullable=True),
        _field("relevance", pa.float64(), "How far it answers the question, says a model; 0 to 1.", nullable=True),
    ]
)

RETRIEVAL_EVALUATION = pa.schema(
    [
        *_EVALUATED,
        _field("metric", pa.string(), "A numeric column of evaluated_questions."),
        _field("mean", pa.float64(), "Mean over the questions."),
        _field("low", pa.float64(), "Lower end of its 95% bootstrap interval."),
        _field("high", pa.float64(), "Upper end."),
        _field("questions", pa.int64(), "Questions that have a value."),
    ]
)

UNPARTITIONED_TABLES: dict[str, pa.Schema] = {
    "answers": ANSWERS,
    "evaluated_questions": EVALUATED_QUESTIONS,
    "retrieval_evaluation": RETRIEVAL_EVALUATION,
}
"""Tables over all sources that are made by asking the published snapshot."""

SOURCE_TABLES: dict[str, pa.Schema] = {
    "raw_documents": RAW_DOCUMENTS,
    "chunks": CHUNKS,
    "extractions": EXTRACTIONS,
    "entity_mentions": ENTITY_MENTIONS,
    "relation_mentions": RELATION_MENTIONS,
    "parsed": PARSED,
}
"""Tables with one immutable version a source."""

STAMPS = pa.schema(
    [
        _field("doc_id", pa.string(), "A document that was read."),
        _field("stamp", pa.string(), "Its stamp then; empty if a later change may have the same."),
        _field("digest", pa.string(), "Hash of what was read."),
        _field("sketch", pa.list_(pa.uint32()), "MinHash of its text, where that is asked for.", nullable=True),
    ]
)
"""The state of documents when they were read. It goes with a version of RAW_DOCUMENTS and is not part of its rows:
copies of a source have other stamps and the same documents."""

LISTED = pa.schema(
    [
        _field("doc_id", pa.string(), "A document that is listed."),
        _field("path", pa.string(), "Its path in the source."),
        _field("place", pa.string(), "Its place for the connector; empty if it is refused."),
        _field("size", pa.int64(), "Its size in bytes."),
        _field("modified_at", pa.timestamp("us", "UTC"), "When it was last changed."),
        _field("stamp", pa.string(), "A text that changes when the document is touched."),
        _field("stamp_is_stable", pa.bool_(), "Every later change would change the stamp."),
        _field("refused", pa.string(), "The reason not to read it.", nullable=True),
        _field("kind", pa.string(), "The suffix of its format, if the path has none."),
        _field("content", pa.binary(), "The whole document, if the listing has it.", nullable=True),
    ]
)
"""A listing of a source: the columns of ListedFile, and the id of the document. It is kept, beside the stamps, of a
source that can tell what changed since: with `content` only of documents that are to be read again."""

MERGED_TABLES: dict[str, pa.Schema] = {
    "entities": ENTITIES,
    "relations": RELATIONS,
    "entity_evidence": ENTITY_EVIDENCE,
    "relation_evidence": RELATION_EVIDENCE,
}
"""Tables with one immutable version a generation."""

SORT_KEYS: dict[str, tuple[str, ...]] = {
    "raw_documents": ("doc_id",),
    "stamps": ("doc_id",),
    "listed": ("doc_id",),
    "chunks": ("doc_id", "chunk_index"),
    "extractions": ("chunk_id",),
    "entity_mentions": ("chunk_id", "extraction_key", "mention_index"),
    "relation_mentions": ("chunk_id", "extraction_key", "mention_index"),
    "parsed": ("chunk_id", "extraction_key"),
    "entities": ("entity_id",),
    "relations": ("relation_id",),
    "entity_evidence": ("entity_id", "chunk_id", "mention_index"),
    "relation_evidence": ("relation_id", "chunk_id", "mention_index"),
    "answers": ("question", "mode"),
    "evaluated_questions": ("sequence", "mode", "question"),
    "retrieval_evaluation": ("sequence", "mode", "metric"),
}
"""The order of rows in each table."""


def vector_schema(dimensions: int) -> pa.Schema:
    """Return the schema of a LanceDB table: `id`, `embedding_fingerprint`, `vector` of float32[dimensions]."""
    return pa.schema(
        [
            _field("id", pa.string(), "chunk_id, entity_id or relation_id."),
            _field("embedding_fingerprint", pa.string(), "Hash of the embedded text and the embedding model."),
            _field("vector", pa.list_(pa.float32(), dimensions), "Unit-length embedding."),
        ]
    )


DOCUMENT_ELEMENTS = pa.schema(
    [
        _SOURCE,
        _field("doc_id", pa.string(), "The document."),
        _field("path", pa.string(), "Path of that document."),
        _field("element_index", pa.int64(), "Position among the elements of the document, from 0."),
        _field("kind", pa.string(), "table or figure."),
        _field("caption", pa.string(), "What stands above or below it.", nullable=True),
        _field("content", pa.string(), "The text: document[char_start:char_end]."),
        _field("page", pa.int64(), "Page it starts on, where pages exist.", nullable=True),
        _field("char_start", pa.int64(), "First character in the document."),
        _field("char_end", pa.int64(), "One past the last character."),
        _field("chunk_ids", _TEXTS, "Chunks that hold a part of it, in order."),
    ]
)
"""A view of the elements of RAW_DOCUMENTS."""

VIEWS: dict[str, pa.Schema] = SOURCE_TABLES | MERGED_TABLES | {"document_elements": DOCUMENT_ELEMENTS}
"""The tables of a snapshot, as analysts see them."""

LEDGER = pa.schema(
    [
        _field("date", pa.date32(), "Day of the entry, UTC; null in entries of older versions.", nullable=True),
        _field("run", pa.string(), "The command, or the run of Dagster, that pays."),
        _field("source", pa.string(), "Source of the calls; empty for those of the knowledge base."),
        _field("purpose", pa.string(), "extract, summarise, embed, describe, keywords, answer and others."),
        _field("model", pa.string(), "Identity of the model."),
        _field("calls", pa.int64(), "Calls of the provider."),
        _field("stored", pa.int64(), "Answers that were taken from the store instead."),
        _field("input_tokens", pa.int64(), "What the calls took in. Tokens."),
        _field("cached_input_tokens", pa.int64(), "What of it the provider had in its cache. Tokens."),
        _field("output_tokens", pa.int64(), "What they put out. Tokens."),
        _field("cost_usd", pa.float64(), "What they cost. US dollars."),
    ]
)
"""Entries of the ledger of a home, for SQL."""

DESCRIPTIONS: dict[str, str] = {
    "raw_documents": "One row a document: text, identity, status; failures and duplicates are rows too.",
    "chunks": "One row a chunk position: text, tokens, character span, heading, page.",
    "extractions": "One row a distinct chunk of a source: the raw responses of the model, status, tokens and cost.",
    "parsed": "One row an extraction that answered: the mentions its responses yield, and the rows that yield none.",
    "entity_mentions": "One row an entity that a response names.",
    "relation_mentions": "One row a relation that a response names.",
    "entities": "One row an entity, merged over all sources.",
    "relations": "One row a relation, merged over all sources: an unordered pair of entities.",
    "entity_evidence": "The mentions behind each entity, with source, document and chunk.",
    "relation_evidence": "The mentions behind each relation, with source, document and chunk.",
    "document_elements": "One row a table or figure of a document, with the chunks that hold a part of it.",
}
"""One sentence on each of VIEWS."""
