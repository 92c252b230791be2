"""A filter says what of it no document meets, and nothing of the documents that it hides."""

import unicodedata
from collections.abc import Iterator
from typing import Literal

import duckdb
import pytest

from lightrag_dagster import Filters
from lightrag_dagster.errors import QueryError
from lightrag_dagster.query.filters.allowed import allowed_documents
from lightrag_dagster.storage.duckdb import define_macros

DAY = "2024-03-01"
ROWS = [
    # source, path, media_type, doc_id, status, author, tags, language, date
    (
        "open",
        "a.md",
        "text/markdown",
        "doc-a",
        "processed",
        "Edda Rasmott, Lucian Farrow",
        ["Flood", "Straße"],
        "de",
        "2024-03-01",
    ),
    ("open", "b [2].txt", "text/plain", "doc-b", "duplicate", None, [], None, None),
    ("open", "broken.pdf", "application/pdf", "doc-c", "failed", "Emil Dornacher", ["dam"], None, None),
    ("hidden", "c 2025.06.13.eml", "message/rfc822", "doc-d", "stale", "Jonas Feld", ["secret"], "fr", "2025-06-13"),
    ("hidden", "d.x", "application/x-own", "doc-e", "processed", "Smith, John", [], "xx", None),
]


@pytest.fixture(scope="module")
def documents() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        define_macros(connection)
        connection.execute(
            "CREATE TABLE raw_documents (source VARCHAR, path VARCHAR, media_type VARCHAR, doc_id VARCHAR,"
            " status VARCHAR, author VARCHAR, tags VARCHAR[], language VARCHAR, date DATE, modified_at TIMESTAMPTZ)"
        )
        connection.executemany(
            "INSERT INTO raw_documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, '2026-01-01T00:00:00Z')", ROWS
        )
        yield connection


NOTHING = "no document with text passes the filters"
NAMED = "1 document has its date in its name, which counts where nothing else says one"


@pytest.mark.parametrize(
    ("filters", "allowed", "notes"),
    [
        (Filters(sources="open"), {"doc-a", "doc-b"}, []),
        (Filters(languages="DE"), {"doc-a"}, []),
        (Filters(tags="STRASSE"), {"doc-a"}, []),
        (Filters(media_types=["Text/Plain", "TEXT/MARKDOWN"]), {"doc-a", "doc-b"}, []),
        (Filters(authors=["lucian farrow", "Nobody"]), {"doc-a"}, ["no document with text has author 'Nobody'"]),
        (Filters(authors="smith, john"), {"doc-e"}, []),
        (Filters(authors="Nobody"), set(), [NOTHING, "no document with text has author 'Nobody'"]),
        (Filters(tags="dam"), set(), [NOTHING, "no document with text has tag 'dam'"]),
        (Filters(paths="b [2].txt"), {"doc-b"}, []),
        (Filters(paths="b [2].*"), {"doc-b"}, []),
        (Filters(paths="b ?2].txt"), set(), [NOTHING, "no document with text has a path like 'b ?2].txt'"]),
        (Filters(paths=["*.pdf", "a.*"]), {"doc-a"}, ["no document with text has a path like '*.pdf'"]),
        (
            Filters(paths=["nowhere/*", "open/*.md"]),
            set(),
            [
                NOTHING,
                "no document with text has a path like 'nowhere/*' or 'open/*.md'",
                "paths begin below the source; give the source 'open' and the path '*.md'",
            ],
        ),
        (
            Filters(sources="open", paths="hidden/*"),
            set(),
            [
                NOTHING,
                "no document with text that passes the other filters is in source 'open'",
                "no document with text that passes the other filters has a path like 'hidden/*'",
            ],
        ),
        (
            Filters(media_types="application/pdf"),
            set(),
            [NOTHING, "no document with text is of media type 'application/pdf'"],
        ),
        (Filters(languages="en"), set(), [NOTHING, "no document with text is in language 'en'"]),
        (
            Filters(documents=[f"doc-{number}" for number in range(9)] + ["doc-a"]),
            {"doc-a"},
            ["no document with text has id 'doc-0' or 'doc-1' or 'doc-2' (nor 6 more)"],
        ),
        (Filters(modified_since="2999-01-01"), set(), [NOTHING]),
        (Filters(dated_since="2025-01-01"), {"doc-d"}, ["2 documents bear no date and are left out", NAMED]),
        (Filters(sources="open", dated_until="2025-01-01"), {"doc-a"}, ["1 document bears no date and is left out"]),
        (Filters(tags="flood", dated_since="2024-01-01", dated_until="2024-12-31"), {"doc-a"}, []),
        (
            Filters(authors="Edda Rasmott", dated_since="2025-01-01"),
            set(),
            [NOTHING, "no document with text that passes the other filters has author 'Edda Rasmott'"],
        ),
    ],
    ids=lambda value: str(sorted(value) if isinstance(value, set) else value),
)
def test_documents_and_notes(
    documents: duckdb.DuckDBPyConnection, filters: Filters, allowed: set[str], notes: list[str]
) -> None:
    found = allowed_documents(documents, filters)
    assert set(found.documents.to_pylist()) == allowed
    assert list(found.notes) == notes


@pytest.mark.parametrize(
    "given",
    [
        {"sources": "\u00e9quipe"},
        {"paths": "proc\u00e9dure*"},
        {"authors": "jos\u00e9 P\u00e9rez"},
        {"tags": "m\u00e9mo"},
    ],
    ids=str,
)
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_accents_may_be_composed_or_not(
    documents: duckdb.DuckDBPyConnection, given: dict[str, str], form: Literal["NFC", "NFD"]
) -> None:
    names = ("e\u0301quipe", "proce\u0301dure-e\u0301te\u0301.md", "text/markdown", "doc-f", "processed")
    values = [*names, "Edda, Jose\u0301 Pe\u0301rez", ["Me\u0301mo"]]
    typed = Filters(**{name: unicodedata.normalize(form, one) for name, one in given.items()})
    documents.begin()
    documents.execute(
        "INSERT INTO raw_documents BY NAME SELECT ? source, ? path, ? media_type, ? doc_id, ? status, ? author, ? tags",
        values,
    )
    found = allowed_documents(documents, typed)
    documents.rollback()
    assert (found.documents.to_pylist(), found.notes) == (["doc-f"], ())


@pytest.mark.parametrize(
    "there",
    [
        Filters(authors="Jonas Feld"),
        Filters(tags="secret"),
        Filters(paths="c 2025.06.13.eml"),
        Filters(documents="doc-d"),
        Filters(languages="fr"),
        Filters(media_types="message/rfc822"),
    ],
    ids=str,
)
def test_a_value_of_hidden_documents_is_as_one_of_none(documents: duckdb.DuckDBPyConnection, there: Filters) -> None:
    """What is said of a value that only another source has is what is said where no source has it."""
    ((name, (value,)),) = there.given.items()
    elsewhere = {"media_types": "message/rfc822", "languages": "en"}.get(name, "nowhere")
    said = [allowed_documents(documents, Filters(sources="open", **{name: one})).notes for one in (value, elsewhere)]
    assert [note.replace(repr(value), "…") for note in said[0]] == [
        note.replace(repr(elsewhere), "…") for note in said[1]
    ]
    assert allowed_documents(documents, there).documents.to_pylist() == ["doc-d"]


@pytest.mark.parametrize(
    ("filters", "says"),
    [
        (Filters(sources="opn"), "there is no source 'opn' in the snapshot; did you mean 'open'?"),
        (Filters(sources="x"), "there is no source 'x' in the snapshot; there are hidden, open"),
        (Filters(media_types="html"), "there is no media type 'html'; did you mean 'text/html'?"),
        (Filters(media_types="pdf"), "there is no media type 'pdf'; did you mean 'application/pdf'?"),
        (Filters(media_types="text/md"), "there is no media type 'text/md'; did you mean"),
        (Filters(media_types="?"), "there is no media type '?'; give one such as 'text/markdown'"),
        (Filters(languages="German"), "there is no language 'german'; did you mean 'de'?"),
        (Filters(languages="de-AT"), "there is no language 'de-at'; did you mean 'de'?"),
        (Filters(languages="?"), "there is no language '?'; give a code of ISO 639, such as 'de'"),
    ],
    ids=str,
)
def test_what_no_document_could_have_is_refused(
    documents: duckdb.DuckDBPyConnection, filters: Filters, says: str
) -> None:
    with pytest.raises(QueryError) as refused:
        allowed_documents(documents, filters)
    assert str(refused.value).startswith(says)


def test_a_media_type_or_language_of_their_own_is_known_where_it_may_be_seen(
    documents: duckdb.DuckDBPyConnection,
) -> None:
    for own in (Filters(media_types="application/x-own"), Filters(languages="xx")):
        assert allowed_documents(documents, own).documents.to_pylist() == ["doc-e"]
        ((name, (value,)),) = own.given.items()
        for one in (value, "zzz"):
            with pytest.raises(QueryError, match=f"there is no .* '{one}'"):
                allowed_documents(documents, Filters(sources="open", **{name: one}))


def test_the_database_is_as_before(documents: duckdb.DuckDBPyConnection) -> None:
    allowed_documents(documents, Filters(tags="flood"))
    assert documents.execute("SELECT count(*) FROM duckdb_tables()").fetchall() == [(1,)]
