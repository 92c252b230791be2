"""The Arrow schema of every table, documented field by field.

The descriptions are field metadata: they reach the Dagster UI as the table schema. Key columns come first; rows are
sorted by them. No table holds a wall clock except `raw_documents.modified_at`.
"""

import pyarrow as pa


def column(name: str, kind: pa.DataType, description: str, *, nullable: bool = False) -> pa.Field:
    """Return a field that carries its description."""
    return pa.field(name, kind, nullable=nullable, metadata={"description": description})


def table(*columns: pa.Field) -> pa.Schema:
    """Return the schema of a table with these columns."""
    return pa.schema(columns)


def columns_of(schema: pa.Schema) -> list[tuple[str, str, bool]]:
    """Return name and type of each column of a schema, and whether it may be null: what shapes a file."""
    return [(field.name, str(field.type), field.nullable) for field in schema]


_TEXTS = pa.list_(pa.string())
_ELEMENTS = pa.list_(
    pa.struct([("kind", pa.string()), ("start", pa.int64()), ("end", pa.int64()), ("caption", pa.string())])
)

_SOURCE = column("source", pa.string(), "The source (Dagster partition) the row belongs to.")
_CHUNK = column("chunk_id", pa.string(), "chunk- and a hash of the text, heading and context that reach the prompt.")
_KEY = column(
    "extraction_key", pa.string(), "Hash of chunk, prompts, model, parameters, and language if it is the document's."
)
_MENTION = column("mention_index", pa.int32(), "Position of the record in the chunk's parsed responses.")

RAW_DOCUMENTS = table(
    _SOURCE,
    column("doc_id", pa.string(), "doc- and a hash of source and path."),
    column("path", pa.string(), "Path relative to the source, with forward slashes."),
    column("title", pa.string(), "The document's own title, else its file name."),
    column("content", pa.string(), "Sanitised text; empty unless processed, duplicate or stale."),
    column("content_hash", pa.string(), "Hash of the sanitised text; the document's version."),
    column("content_length", pa.int64(), "Length of the text. Characters."),
    column("summary", pa.string(), "The first 250 characters."),
    column("media_type", pa.string(), "Of the file's format; application/octet-stream if it has none of ours."),
    column("pages", pa.list_(pa.int64()), "First character of each page, where pages exist.", nullable=True),
    column("elements", _ELEMENTS, "Tables and figures; `document_elements` is a view of them.", nullable=True),
    column("author", pa.string(), "Who wrote it, as the document says.", nullable=True),
    column("date", pa.date32(), "When it was written: as it says itself, else as its name does.", nullable=True),
    column("tags", _TEXTS, "Tags and keywords of the document.", nullable=True),
    column("access", _TEXTS, "Its readers, by settings, a column or a file beside it.", nullable=True),
    column("language", pa.string(), "ISO 639 code, as detected, else as the document says.", nullable=True),
    column("status", pa.string(), "processed, duplicate, failed, skipped, empty, disabled or stale."),
    column("duplicate_of", pa.string(), "doc_id with the same text and a smaller path.", nullable=True),
    column(
        "error", pa.string(), "Why it has no text or is stale, or what of it is doubtful or missing.", nullable=True
    ),
    column("file_words", pa.int64(), "Words that the file holds; null if they are not counted apart.", nullable=True),
    column("lost_words", pa.int64(), "Words of the file that `content` lacks; null as `file_words`.", nullable=True),
    column("lost_example", pa.string(), "The first words that `content` lacks.", nullable=True),
    column("recipe", pa.string(), "Model and prompt that its images were described by; a hash.", nullable=True),
    column("modified_at", pa.timestamp("us", "UTC"), "When the file was last modified; 1970 if that is not known."),
)

CHUNKS = table(
    _SOURCE,
    _CHUNK,
    column("doc_id", pa.string(), "The document the chunk stands in."),
    column("path", pa.string(), "Path of that document."),
    column("chunk_index", pa.int32(), "Position of the chunk in the document, from 0."),
    column("content", pa.string(), "The text: document[char_start:char_end]."),
    column("tokens", pa.int32(), "Length of the text. Tokens."),
    column("char_start", pa.int64(), "First character in the document."),
    column("char_end", pa.int64(), "One past the last character."),
    column("heading", pa.string(), "Heading path in force where the chunk starts.", nullable=True),
    column(
        "context",
        pa.string(),
        "What else of the document it needs: headings above it, header of its table. Part of prompt and vector.",
        nullable=True,
    ),
    column("page", pa.int32(), "Page the chunk starts on, where pages exist.", nullable=True),
    column("page_end", pa.int32(), "Page it ends on.", nullable=True),
    column("text_hash", pa.string(), "Hash of the document's text and media type, from which the chunk was cut."),
    column("recipe", pa.string(), "Recipe of the chunker that cut it: its settings and revision."),
)

EXTRACTIONS = table(
    _SOURCE,
    _CHUNK,
    _KEY,
    column("model", pa.string(), "Name of the model that answered, with its parameters."),
    column("responses", _TEXTS, "Raw responses: the first, then one a gleaning round."),
    column("rounds", pa.int32(), "Number of responses."),
    column("status", pa.string(), "ok, truncated or failed."),
    column("error", pa.string(), "Why the extraction failed.", nullable=True),
    column(
        "error_kind",
        pa.string(),
        "transient: the next run asks again; permanent: only another key does, or `run --retry-failed`.",
        nullable=True,
    ),
    column("finish_reason", pa.string(), "Of the last response.", nullable=True),
    column("input_tokens", pa.int64(), "What the stored responses took in when bought. Tokens."),
    column("cached_input_tokens", pa.int64(), "What of it the provider had in its cache. Tokens."),
    column("output_tokens", pa.int64(), "What they put out. Tokens."),
    column("cost_usd", pa.float64(), "What they cost. US dollars."),
    column("recipe", pa.string(), "Recipe that made the row: prompts, model and parameters."),
)

ENTITY_MENTIONS = table(
    _SOURCE,
    _CHUNK,
    _KEY,
    _MENTION,
    column("name", pa.string(), "Name as extracted, normalised."),
    column("type", pa.string(), "Entity type, lower case."),
    column("description", pa.string(), "What the chunk says of the entity."),
)

RELATION_MENTIONS = table(
    _SOURCE,
    _CHUNK,
    _KEY,
    _MENTION,
    column("src", pa.string(), "Name of the first endpoint as extracted."),
    column("tgt", pa.string(), "Name of the second endpoint as extracted."),
    column("keywords", pa.string(), "Comma-separated keywords."),
    column("description", pa.string(), "What the chunk says of the relation."),
    column("weight", pa.float64(), "1 unless the response gave a strength."),
)

NO_ROW = "answer without a row"
"""The reason of a chunk of which a language model says, asked twice, that nothing is in it."""

PARSED = table(
    _SOURCE,
    _CHUNK,
    _KEY,
    column("entities", pa.int32(), "Entity mentions that the responses yield."),
    column("relations", pa.int32(), "Relation mentions that they yield."),
    column("rejected_rows", pa.int32(), "Rows of all rounds that are meant as a record and yield none."),
    column(
        "reason", pa.string(), "The most frequent reason, or that there is no row; one of few texts.", nullable=True
    ),
)

_PROVENANCE = [
    column(
        "chunk_ids",
        _TEXTS,
        "Distinct chunks that mention it, in canonical order; at most `merging.max_chunks`, in turn over sources.",
    ),
    column("doc_ids", _TEXTS, "Documents that hold a chunk that mentions it, sorted; as many at most, in turn too."),
    column("file_paths", _TEXTS, "source/path of those documents, sorted."),
    column("sources", _TEXTS, "Sources of all documents that hold a chunk that mentions it, sorted."),
    column("mention_count", pa.int64(), "All mentions; 0 for an entity only relations name."),
    column("chunk_count", pa.int64(), "All distinct chunks that mention it."),
    column("document_count", pa.int64(), "All documents that hold one of these chunks."),
    column(
        "capped",
        pa.bool_(),
        "Whether there are more chunks or documents than listed; descriptions and keywords are of the chunks listed.",
    ),
]

_SUMMARY_RECIPE = column(
    "summary_recipe",
    pa.string(),
    "Hash of prompt, model and settings of the summary; null where descriptions are joined.",
    nullable=True,
)

_HASHES = [
    column("descriptions_hash", pa.string(), "Hash of the descriptions that the description is made from."),
    column("embedding_key", pa.string(), "Key of its vector: a hash of the embedded text and the model."),
    column("row_hash", pa.string(), "Hash of every other column."),
]

ENTITIES = table(
    column("entity_id", pa.string(), "ent- and a hash of the normalised name."),
    column("name", pa.string(), "Most frequent spelling."),
    column("type", pa.string(), "Most frequent type; unknown when only relations name the entity."),
    column("description", pa.string(), "Distinct descriptions joined by `<SEP>`, or their summary."),
    _SUMMARY_RECIPE,
    *_PROVENANCE,
    column("degree", pa.int64(), "Relations that end here."),
    *_HASHES,
)

RELATIONS = table(
    column("relation_id", pa.string(), "rel- and a hash of the sorted pair of entity ids."),
    column("src_id", pa.string(), "Endpoint with the smaller entity id."),
    column("tgt_id", pa.string(), "Endpoint with the larger entity id."),
    column("src", pa.string(), "Display name of src_id."),
    column("tgt", pa.string(), "Display name of tgt_id."),
    column("keywords", pa.string(), "Distinct keywords of the chunks listed, sorted, comma-separated."),
    column("description", pa.string(), "Distinct descriptions joined by `<SEP>`, or their summary."),
    _SUMMARY_RECIPE,
    column("weight", pa.float64(), "Sum of the weights of all mentions."),
    *_PROVENANCE,
    column("rank", pa.int64(), "Sum of the degrees of both endpoints."),
    *_HASHES,
)

_EVIDENCE = [
    _CHUNK,
    column("mention_index", pa.int32(), "Position of the mention in the chunk's parsed responses."),
    column("source", pa.string(), "Source of the chunk's first canonical position."),
    column("doc_id", pa.string(), "Document of that position."),
    column("path", pa.string(), "Path of that document."),
    _KEY,
]

ENTITY_EVIDENCE = table(
    column("entity_id", pa.string(), "The merged entity."),
    *_EVIDENCE,
    column("name", pa.string(), "Name as extracted."),
    column("type", pa.string(), "Type as extracted."),
    column("description", pa.string(), "Description as extracted."),
)

RELATION_EVIDENCE = table(
    column("relation_id", pa.string(), "The merged relation."),
    *_EVIDENCE,
    column("src_id", pa.string(), "The entity of `src`."),
    column("tgt_id", pa.string(), "The entity of `tgt`."),
    column("src", pa.string(), "First endpoint as extracted."),
    column("tgt", pa.string(), "Second endpoint as extracted."),
    column("keywords", pa.string(), "Keywords as extracted."),
    column("description", pa.string(), "Description as extracted."),
    column("weight", pa.float64(), "Weight as extracted."),
)

ANSWERS = table(
    column("question", pa.string(), "The question as asked."),
    column("mode", pa.string(), "Retrieval mode."),
    column("answer", pa.string(), "The answer; empty when there is none."),
    column("references", _TEXTS, "source/path of each reference, best first."),
    column("cited", _TEXTS, "source/path of those that the answer cites, best first."),
    column("snapshot_id", pa.string(), "The snapshot that was asked; one with the same context is not."),
    column("request_key", pa.string(), "Hash of the model and all messages that it saw; empty without an answer."),
    column("error", pa.string(), "Why there is no answer, or no whole one.", nullable=True),
)

_EVALUATED = [
    column("sequence", pa.int32(), "Number of the snapshot, 1 for the first of the home."),
    column("snapshot_id", pa.string(), "The snapshot that was asked."),
    column("mode", pa.string(), "Retrieval mode."),
]

EVALUATED_QUESTIONS = table(
    *_EVALUATED,
    column("question", pa.string(), "The question as filed."),
    column("question_key", pa.string(), "Hash of the question, what should be found for it, and k."),
    column("language", pa.string(), "ISO 639 code of most of what should be found, if it is known.", nullable=True),
    column("recall", pa.float64(), "Share of what should be found among the first k chunks."),
    column("recall_at_2", pa.float64(), "The same among the first two.", nullable=True),
    column("precision", pa.float64(), "Share of the first k chunks that hold something of it."),
    column("mrr", pa.float64(), "One over the rank of the first such chunk; 0 without any."),
    column("ndcg", pa.float64(), "What was found, discounted by rank, over the ideal."),
    column("context_tokens", pa.int64(), "Length of the context that a model would see. Tokens."),
    column("milliseconds", pa.float64(), "How long retrieval took, embedding included, keywords apart."),
    column("answer", pa.string(), "The answer, in modes whose answers are judged.", nullable=True),
    column("exact_match", pa.float64(), "1 if it is the known answer, else 0.", nullable=True),
    column("f1", pa.float64(), "Overlap of its words with those of the known answer.", nullable=True),
    column("faithfulness", pa.float64(), "How far the context supports it, says a model; 0 to 1.", nullable=True),
    column("relevance", pa.float64(), "How far it answers the question, says a model; 0 to 1.", nullable=True),
)

RETRIEVAL_EVALUATION = table(
    *_EVALUATED,
    column("metric", pa.string(), "A numeric column of evaluated_questions."),
    column("mean", pa.float64(), "Mean over the questions."),
    column("low", pa.float64(), "Lower end of its 95% bootstrap interval."),
    column("high", pa.float64(), "Upper end."),
    column("questions", pa.int64(), "Questions that have a value."),
)

EXTRACTION_EVALUATION = table(
    *_EVALUATED[:2],
    column("grouping", pa.string(), "all; or recipe, model, source or type: the passages of the value."),
    column("value", pa.string(), "A recipe, model, source or type of entities; all."),
    column("kind", pa.string(), "entity, type, relation or fact; all: these together."),
    column("passages", pa.int64(), "Passages whose gold has the kind."),
    column("right_rows", pa.int64(), "Rows that were extracted and are gold."),
    column("wrong_rows", pa.int64(), "Rows that were extracted and are not."),
    column("missed_rows", pa.int64(), "Gold rows that were not extracted."),
    *(
        column(f"{name}{end}", pa.float64(), f"{said}{of}.")
        for name, said in (
            ("precision", "Share of extracted rows that are gold"),
            ("recall", "Share of gold rows that were extracted"),
            ("f1", "Harmonic mean of both"),
        )
        for end, of in (("", ""), ("_low", ": lower end of its 95% bootstrap interval"), ("_high", ": upper end"))
    ),
)

DUPLICATE_CANDIDATES = table(
    column("entity_id", pa.string(), "The entity with the smaller id."),
    column("other_id", pa.string(), "The entity with the larger id."),
    column("name", pa.string(), "Display name of entity_id."),
    column("other", pa.string(), "Display name of other_id."),
    column("type", pa.string(), "Type of entity_id."),
    column("other_type", pa.string(), "Type of other_id."),
    column("found_by", _TEXTS, "The rules that compared the two, sorted."),
    column("likeness", pa.float64(), "Likeness of the names as strings; 0 to 1."),
    column("cosine", pa.float64(), "Cosine of their vectors.", nullable=True),
    column("score", pa.float64(), "How likely the two are one, by all evidence; 0 to 1."),
    column("verdict", pa.string(), "likely, unclear or unlikely: the score beside two thresholds."),
)

COMMUNITIES = table(
    column("community_id", pa.string(), "com- and a hash of the ids of its entities."),
    column("level", pa.int32(), "0 for the whole graph's communities; those of level 1 are parts of them."),
    column("parent_id", pa.string(), "The community that it is a part of.", nullable=True),
    column("name", pa.string(), "Words that are frequent in it and rarer in its connected part, the best first."),
    column("size", pa.int64(), "Number of entities."),
    column("relations", pa.int64(), "Relations between its entities."),
    column("weight", pa.float64(), "Sum of their weights."),
    column("entity_ids", _TEXTS, "Its entities, those with most relations first."),
)

UNPARTITIONED_TABLES: dict[str, pa.Schema] = {
    "answers": ANSWERS,
    "communities": COMMUNITIES,
    "duplicate_candidates": DUPLICATE_CANDIDATES,
    "evaluated_questions": EVALUATED_QUESTIONS,
    "extraction_evaluation": EXTRACTION_EVALUATION,
    "retrieval_evaluation": RETRIEVAL_EVALUATION,
}
"""Tables over all sources that are made from the published snapshot."""

SOURCE_TABLES: dict[str, pa.Schema] = {
    "raw_documents": RAW_DOCUMENTS,
    "chunks": CHUNKS,
    "extractions": EXTRACTIONS,
    "entity_mentions": ENTITY_MENTIONS,
    "relation_mentions": RELATION_MENTIONS,
    "parsed": PARSED,
}
"""Tables with one immutable version a source."""

PARSED_TABLES = ("entity_mentions", "relation_mentions", "parsed")
"""Those that are made from `extractions`."""

MERGED_TABLES: dict[str, pa.Schema] = {
    "entities": ENTITIES,
    "relations": RELATIONS,
    "entity_evidence": ENTITY_EVIDENCE,
    "relation_evidence": RELATION_EVIDENCE,
}
"""Tables with one immutable version a generation."""

SORT_KEYS: dict[str, tuple[str, ...]] = {
    "raw_documents": ("doc_id",),
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
    "communities": ("level", "community_id"),
    "duplicate_candidates": ("entity_id", "other_id"),
    "evaluated_questions": ("sequence", "mode", "question"),
    "retrieval_evaluation": ("sequence", "mode", "metric"),
    "extraction_evaluation": ("sequence", "grouping", "value", "kind"),
}


def vector_schema(dimensions: int) -> pa.Schema:
    """Return the schema of a LanceDB table: `id`, `embedding_key`, `vector` of float16[dimensions], `unread`."""
    return table(
        column("id", pa.string(), "chunk_id, entity_id or relation_id."),
        column("embedding_key", pa.string(), "Key of the vector: a hash of the embedded text and the model."),
        column("vector", pa.list_(pa.float16(), dimensions), "Unit-length embedding."),
        column("unread", pa.int32(), "Characters of the text that it leaves out.", nullable=True),
    )
