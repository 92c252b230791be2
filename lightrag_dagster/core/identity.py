"""Identifiers and hashes: the same thing has the same id in every run, store and process.

An id is a prefix and the first 32 hexadecimal digits of a SHA-256. Fields are joined as a JSON array before hashing,
so that no two different lists of fields share a digest. `storage/macros.sql` has in SQL those that SQL needs.
"""

import hashlib
import json
import unicodedata
from json.encoder import encode_basestring
from typing import cast

import numpy as np
import pyarrow as pa

ROWS_PER_BATCH = 100_000
"""Rows that are hashed together, and that a row group of a Parquet file holds."""

_DIGITS = 32
_ONE_MARK = str.maketrans(dict.fromkeys("‐‒–—−", "-") | dict.fromkeys("\"'“”‘’«»‹›„‚`ʼʻ՚׳״′", ""))


def digest(*fields: object) -> str:
    """Return 32 hexadecimal digits that identify the fields, which must be JSON-serialisable."""
    try:  # strings alone, in a third of the time
        texts = ",".join(map(encode_basestring, cast("tuple[str, ...]", fields)))
        encoded = f"[{texts}]"
    except TypeError:
        encoded = json.dumps(fields, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(encoded.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def text_digest(text: str) -> str:
    """Return 32 hexadecimal digits of the UTF-8 text alone."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:_DIGITS]


def document_id(source: str, path: str) -> str:
    """Return the id of the document at `path`, the full path relative to its source."""
    return "doc-" + digest(source, path)


def chunk_id(content: str, heading: str | None, context: str | None = None) -> str:
    """Return the id of a chunk: a hash of its text, heading and context, all of which reach the prompt."""
    return "chunk-" + digest(content, heading or "", *([context] if context else []))


def name_key(name: str) -> str:
    """Return a name with case, spacing, quotes, dashes and forms folded: equal for spellings of one entity."""
    folded = unicodedata.normalize("NFKC", name.replace("´", "'")).casefold().replace("i\u0307", "i")
    return " ".join(folded.translate(_ONE_MARK).split()) or " ".join(folded.split())


def entity_id(name: str) -> str:
    """Return the id of the entity with this name, in any spelling."""
    return "ent-" + text_digest(name_key(name))


def relation_id(first_entity_id: str, second_entity_id: str) -> str:
    """Return the id of the undirected relation between two entities."""
    low, high = sorted((first_entity_id, second_entity_id))
    return "rel-" + text_digest(f"{low}|{high}")


def extraction_key(chunk_id: str, extraction_recipe: str, language: str | None = None) -> str:
    """Return the key of one chunk's answer: a hash of the chunk and the recipe by which it was asked.

    `language` is the code of the document's language if the answer follows it, else empty.
    """
    return digest(chunk_id, extraction_recipe, *([] if language is None else [language]))


def embedding_key(embedder_identity: str, text: str) -> str:
    """Return the key under which a vector is stored: a hash of the embedder and the text."""
    return text_digest(f"{embedder_identity}\n{text}")


def table_version(table: pa.Table) -> str:
    """Return a hash of a table's schema and rows, in order; its layout in memory does not matter."""
    with TableHash(table.schema) as version:
        for start in range(0, table.num_rows, ROWS_PER_BATCH):
            version.add(table.slice(start, ROWS_PER_BATCH))
    return version.digest


class TableHash:
    """The version of a table that arrives in batches of ROWS_PER_BATCH rows, the last of which may be shorter."""

    def __init__(self, schema: pa.Schema) -> None:
        self._sink = _HashingSink()
        self._writer = pa.ipc.new_stream(pa.PythonFile(self._sink, mode="w"), schema.remove_metadata())

    def __enter__(self) -> "TableHash":
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()

    def add(self, batch: pa.Table) -> None:
        """Add the next rows."""
        # Copied, since a slice is written with more than its own rows.
        self._writer.write_table(batch.replace_schema_metadata(None).take(np.arange(batch.num_rows)).combine_chunks())

    @property
    def digest(self) -> str:
        """The version, once the block has ended."""
        return self._sink.hash.hexdigest()[:_DIGITS]


class _HashingSink:
    """A write-only file that keeps only a running SHA-256."""

    closed = False

    def __init__(self) -> None:
        self.hash = hashlib.sha256()

    def write(self, data: bytes) -> int:
        self.hash.update(data)
        return len(data)

    def flush(self) -> None: ...

    def close(self) -> None: ...
