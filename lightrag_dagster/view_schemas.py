"""The tables of a snapshot as analysts see them: those of `schemas`, and views and comparisons made of them."""

import pyarrow as pa

from lightrag_dagster.fact_schemas import MERGED_FACTS, MERGED_PASS_TABLES, PASS_TABLES
from lightrag_dagster.schemas import ENTITY_EVIDENCE, MERGED_TABLES, RAW_DOCUMENTS, SOURCE_TABLES, column, table

DOCUMENT_ELEMENTS = table(
    RAW_DOCUMENTS.field("source"),
    column("doc_id", pa.string(), "The document."),
    column("path", pa.string(), "Path of that document."),
    column("element_index", pa.int64(), "Position among the elements of the document, from 0."),
    column("kind", pa.string(), "table or figure."),
    column("caption", pa.string(), "What stands above or below it.", nullable=True),
    column("content", pa.string(), "The text: document[char_start:char_end]."),
    column("page", pa.int64(), "Page it starts on, where pages exist.", nullable=True),
    column("char_start", pa.int64(), "First character in the document."),
    column("char_end", pa.int64(), "One past the last character."),
    column("chunk_ids", pa.list_(pa.string()), "Chunks that hold a part of it, in order."),
)

ENTITY_NEIGHBOURS = table(
    column("entity_id", pa.string(), "The entity."),
    column("name", pa.string(), "Its display name."),
    column("neighbour_id", pa.string(), "An entity that it has a relation with."),
    column("neighbour", pa.string(), "Display name of neighbour_id."),
    column("relation_id", pa.string(), "The relation."),
    column("keywords", pa.string(), "Keywords of the relation."),
    column("description", pa.string(), "Description of the relation."),
    column("weight", pa.float64(), "Weight of the relation."),
)

GROUNDING = table(
    *map(ENTITY_EVIDENCE.field, ("entity_id", "name")),
    column("chunk_id", pa.string(), "The chunk that names it."),
    *map(ENTITY_EVIDENCE.field, ("mention_index", "source")),
    column("recipe", pa.string(), "Recipe of the extraction: prompts, model and parameters."),
    column(
        "grounded",
        pa.bool_(),
        "Whether each word of the name is a word of the chunk or of the headings above it; null for a name without "
        "letters and digits.",
        nullable=True,
    ),
)

FACT_SPANS = table(
    *(field for field in MERGED_FACTS if field.name != "row_hash"),
    column("answer", pa.string(), "What tells this object or value from others."),
    column("holds_from", pa.date32(), "First day on which it holds; null if that is open.", nullable=True),
    column("holds_to", pa.date32(), "Last day, also before the next fact takes its place.", nullable=True),
)

CONTRADICTIONS = table(
    *map(MERGED_FACTS.field, ("subject_id", "subject", "relation", "fact_id")),
    column("other_id", pa.string(), "The other fact."),
    column("says", pa.string(), "Object or value of the first."),
    column("other_says", pa.string(), "Object or value of the other."),
    column("shared_from", pa.date32(), "First day on which both hold; null if that is open.", nullable=True),
    column("shared_to", pa.date32(), "Last day.", nullable=True),
    column("chunk_ids", pa.list_(pa.string()), "The chunks that say the first."),
    column("other_chunk_ids", pa.list_(pa.string()), "The chunks that say the other."),
)

CHANGES = table(
    column("kind", pa.string(), "document, entity, relation or fact."),
    column("id", pa.string(), "doc_id, entity_id, relation_id or fact_id."),
    column("name", pa.string(), "source/path, display name, or both ends with a dash, or what a fact says, between."),
    column("change", pa.string(), "added, changed or removed."),
    column("columns", pa.list_(pa.string()), "Of a changed row the columns that differ, as in its table."),
    column("before", pa.string(), "Their values before, as JSON.", nullable=True),
    column("after", pa.string(), "Their values after, as JSON.", nullable=True),
)

SNAPSHOTS = table(
    column("snapshot_id", pa.string(), "The snapshot."),
    column("sequence", pa.int64(), "Its number, from 1."),
    column("published_at", pa.timestamp("us", "UTC"), "When it was published."),
    column("is_published", pa.bool_(), "Whether readers open it now."),
    column("documents", pa.int64(), "Documents listed."),
    column("chunks", pa.int64(), "Chunk positions."),
    column("entities", pa.int64(), "Entities."),
    column("relations", pa.int64(), "Relations."),
    column("facts", pa.int64(), "Facts."),
)

DERIVED_VIEWS: dict[str, pa.Schema] = {
    "document_elements": DOCUMENT_ELEMENTS,
    "entity_neighbours": ENTITY_NEIGHBOURS,
    "grounding": GROUNDING,
    "fact_spans": FACT_SPANS,
    "facts_now": FACT_SPANS,
    "contradictions": CONTRADICTIONS,
}
"""Views over other tables of a snapshot."""

MACROS = ("facts_at",)
"""Table functions over them: `facts_at(DATE '2024-03-01')`."""

VIEWS: dict[str, pa.Schema] = SOURCE_TABLES | MERGED_TABLES | PASS_TABLES | MERGED_PASS_TABLES | DERIVED_VIEWS
"""The tables of a snapshot, as analysts see them."""

DESCRIPTIONS: dict[str, str] = {
    "raw_documents": "One row a document: path, text, status; failures and duplicates are rows too.",
    "chunks": "One row a chunk position: text, tokens, character span, heading, page.",
    "extractions": "One row a distinct chunk of a source: the raw responses of the model, status, tokens and cost.",
    "parsed": "One row an extraction that answered: the mentions its responses yield, and the rows that yield none.",
    "entity_mentions": "One row an entity that a response names.",
    "relation_mentions": "One row a relation that a response names.",
    "entities": "One row an entity, merged over all sources.",
    "relations": "One row a relation, merged over all sources: an unordered pair of entities.",
    "entity_evidence": "The mentions behind each entity, with source, document and chunk.",
    "relation_evidence": "The mentions behind each relation, with source, document and chunk.",
    "readings": "One row a chunk of a source and pass: the raw responses of the model, status, tokens and cost.",
    "facts": "One row a fact that a response of a pass states, with the words of the chunk that say it.",
    "read_facts": "One row a reading that answered: the facts its responses yield, and the rows that yield none.",
    "merged_facts": "One row a fact, merged over all sources and passes.",
    "fact_evidence": "The facts behind each merged fact, with source, document and chunk.",
    "fact_spans": "One row a merged fact that counts, with the days on which it holds.",
    "facts_now": "The facts that hold today; `facts_at(day)` gives those of another day.",
    "contradictions": "One row a pair of facts that cannot both be, of which neither is dropped.",
    "document_elements": "One row a table or figure of a document, with the chunks that hold a part of it.",
    "entity_neighbours": "Two rows a relation, one from each of its ends.",
    "grounding": "One row a mention behind an entity: whether the chunk has the name.",
}
