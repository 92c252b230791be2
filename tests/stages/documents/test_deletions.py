from datetime import UTC, datetime

import pyarrow as pa
import pytest

from lightrag_dagster.core import identity
from lightrag_dagster.errors import SourceError
from lightrag_dagster.schemas import RAW_DOCUMENTS
from lightrag_dagster.settings import DocumentSettings
from lightrag_dagster.stages.documents.deletions import check_deletions
from lightrag_dagster.storage.memory import in_memory

TEN = {f"{number}.md": f"text {number}" for number in range(10)}


def table(texts: dict[str, str], status: str = "processed") -> pa.Table:
    """Return documents by path and text; a path with no text is a failed row."""
    return pa.Table.from_pylist(
        [
            {
                "source": "s",
                "doc_id": identity.document_id("s", path),
                "path": path,
                "title": path,
                "content": text,
                "content_hash": identity.text_digest(text) if text else "",
                "content_length": len(text),
                "summary": text,
                "media_type": "text/markdown",
                "status": status if text else "failed",
                "modified_at": datetime(2026, 1, 1, tzinfo=UTC),
            }
            for path, text in texts.items()
        ],
        schema=RAW_DOCUMENTS,
    )


def check(previous: pa.Table, current: pa.Table, settings: DocumentSettings) -> None:
    with in_memory() as connection:
        connection.register("before", previous)
        connection.register("now", current)
        check_deletions("s", connection, settings)


def without(count: int) -> dict[str, str]:
    return dict(list(TEN.items())[count:])


@pytest.mark.parametrize(
    "current",
    [
        TEN,
        without(2),
        {f"renamed/{path}": text for path, text in TEN.items()},
        dict.fromkeys(TEN, ""),
        {path: text + " edited" for path, text in TEN.items()},
        without(5) | {f"moved-{path}": TEN[path] for path in list(TEN)[:5]},
    ],
    ids=["nothing", "a fifth", "all renamed", "all failed", "all edited", "half moved"],
)
def test_what_is_not_a_loss(current: dict[str, str]) -> None:
    check(table(TEN), table(current), DocumentSettings())


@pytest.mark.parametrize("status", ["processed", "duplicate", "stale"])
def test_losing_more_than_the_share_is_refused(status: str) -> None:
    with pytest.raises(SourceError) as caught:
        check(table(TEN, status), table(without(3)), DocumentSettings())
    message = str(caught.value)
    assert "source 's' lost 3 of 10 documents" in message
    assert "max_deleted_share = 0.2" in message
    assert "--accept-deletes" in message
    assert "documents.accept_deletes" in message


@pytest.mark.parametrize("share", [0.2, 1.0])
def test_losing_everything_is_refused_whatever_the_share(share: float) -> None:
    with pytest.raises(SourceError, match="lost 10 of 10"):
        check(table(TEN), RAW_DOCUMENTS.empty_table(), DocumentSettings(max_deleted_share=share))


def test_new_documents_do_not_make_up_for_lost_ones() -> None:
    replaced = {f"new-{path}": f"new {text}" for path, text in TEN.items()}
    with pytest.raises(SourceError, match="lost 10 of 10"):
        check(table(TEN), table(replaced), DocumentSettings())


def test_the_setting_is_the_bound() -> None:
    check(table(TEN), table(without(5)), DocumentSettings(max_deleted_share=0.5))
    with pytest.raises(SourceError):
        check(table(TEN), table(without(1)), DocumentSettings(max_deleted_share=0))


def test_deletions_can_be_accepted() -> None:
    check(table(TEN), RAW_DOCUMENTS.empty_table(), DocumentSettings(accept_deletes=True))


@pytest.mark.parametrize("previous", [RAW_DOCUMENTS.empty_table(), table({"a.md": ""})])
def test_where_nothing_was_nothing_is_lost(previous: pa.Table) -> None:
    check(previous, RAW_DOCUMENTS.empty_table(), DocumentSettings())
