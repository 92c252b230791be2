from datetime import UTC, datetime

import pyarrow as pa
import pytest

from lightrag_dagster.core import identity
from lightrag_dagster.errors import SourceError
from lightrag_dagster.schemas import RAW_DOCUMENTS
from lightrag_dagster.settings import DocumentSettings
from lightrag_dagster.stages.documents.deletions import Losses, check_deletions
from lightrag_dagster.storage.duckdb import in_memory

TEN = {f"{number}.md": f"text {number}" for number in range(10)}


def table(texts: dict[str, str], status: str = "processed", without_text: str = "failed") -> pa.Table:
    """Return documents by path and text; a path with no text has another status."""
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
                "status": status if text else without_text,
                "modified_at": datetime(2026, 1, 1, tzinfo=UTC),
            }
            for path, text in texts.items()
        ],
        schema=RAW_DOCUMENTS,
    )


def check(previous: pa.Table, current: pa.Table, settings: DocumentSettings) -> Losses:
    with in_memory() as connection:
        connection.register("before", previous)
        connection.register("now", current)
        return check_deletions("s", connection, settings)


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
        dict.fromkeys(TEN, "See all.md.") | {f"now/{path}": text for path, text in TEN.items()},
        TEN | dict.fromkeys(list(TEN)[:3], "The same."),
    ],
    ids=["nothing", "a fifth", "all renamed", "all failed", "all edited", "half moved", "text moved", "two repeat one"],
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


@pytest.mark.parametrize("status", ["empty", "skipped"])
def test_a_document_without_its_text_is_lost_though_it_is_there(status: str) -> None:
    emptied = TEN | dict.fromkeys(list(TEN)[:3], "")
    with pytest.raises(SourceError, match=r"lost 3 of 10 documents at once \(3 emptied\), .*; one of them is '0.md'"):
        check(table(TEN), table(emptied, without_text=status), DocumentSettings())
    check(table(TEN), table(emptied, without_text=status), DocumentSettings(accept_deletes=True))


def test_deleted_and_emptied_documents_count_together() -> None:
    less = without(2) | {"2.md": ""}
    with pytest.raises(SourceError, match=r"lost 3 of 10 documents at once \(2 deleted, 1 emptied\)"):
        check(table(TEN), table(less, without_text="empty"), DocumentSettings())


@pytest.mark.parametrize(("characters", "lost"), [(99, False), (10, False), (9, True), (0, True)])
def test_less_than_a_tenth_of_its_text_is_a_loss(characters: int, lost: bool) -> None:
    now = table({"a.md": "y" * characters}, without_text="empty")
    settings, before = DocumentSettings(), table({"a.md": "x" * 100})
    if lost:
        with pytest.raises(SourceError, match=r"lost 1 of 1 documents at once \(1 emptied\)"):
            check(before, now, settings)
    else:
        check(before, now, settings)


def test_a_login_page_in_place_of_each_document_is_a_loss() -> None:
    page = dict.fromkeys(TEN, "Log in to read this document.")
    with pytest.raises(SourceError, match=r"lost 9 of 10 documents at once \(9 now the same as another\)"):
        check(table(TEN), table(page), DocumentSettings())


def test_copies_that_change_together_lose_nothing() -> None:
    copies = TEN | {f"copy/{path}": text for path, text in TEN.items()}
    edited = {path: f"{text}, edited" for path, text in copies.items()}
    check(table(copies), table(edited), DocumentSettings())
    check(table(TEN), table(edited), DocumentSettings())


def test_all_emptied_is_refused_whatever_the_share() -> None:
    with pytest.raises(SourceError, match=r"lost 10 of 10 documents at once \(10 emptied\), all it had"):
        check(table(TEN), table(dict.fromkeys(TEN, ""), without_text="empty"), DocumentSettings(max_deleted_share=1))


def test_documents_that_were_switched_off_are_lost_only_if_nothing_else_is_there() -> None:
    off = table(TEN | dict.fromkeys(list(TEN)[1:], ""), without_text="disabled")
    assert check(table(TEN), off, DocumentSettings()) == (0, 0, 0, 9, 0)
    with pytest.raises(SourceError, match=r"lost 10 of 10 documents at once \(10 switched off\), all it had"):
        check(table(TEN), table(dict.fromkeys(TEN, ""), without_text="disabled"), DocumentSettings())


def test_files_whose_suffix_is_no_longer_read_are_not_told_as_deleted() -> None:
    moved = without(3) | {"0.md.off": "", "1.bak": "", "other.bak": ""}
    with pytest.raises(
        SourceError, match=r"\(1 deleted, 2 now with a suffix that is not read\), .*; one of them is '0.md'"
    ):
        check(table(TEN), table(moved, without_text="skipped"), DocumentSettings())


def test_losses_within_the_share_are_counted() -> None:
    now = table(without(1) | {"1.md": ""}, without_text="empty")
    assert check(table(TEN), now, DocumentSettings()) == (1, 1, 0, 0, 0)


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
