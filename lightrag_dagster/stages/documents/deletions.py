"""The guard against losing documents by mistake.

An unmounted disk looks like a source with everything deleted, a failed export like one with every file emptied, and a
login page in place of each document like one with the same text everywhere.
"""

from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

from lightrag_dagster.core.statements import read_sql
from lightrag_dagster.errors import SourceError
from lightrag_dagster.settings import DocumentSettings

if TYPE_CHECKING:
    import duckdb


class Losses(NamedTuple):
    """Numbers of documents whose text is no longer in their source.

    They are `deleted`, or `emptied` to less than a share of their text, or `repeating`: different from another document
    before, and the same now. Those with an `unread_suffix` are there, as files that cannot be read. A document
    `switched_off` by its front matter is not lost.
    """

    deleted: int
    emptied: int
    repeating: int
    switched_off: int = 0
    unread_suffix: int = 0

    @property
    def lost(self) -> int:
        """Number of lost documents."""
        return self.deleted + self.emptied + self.repeating + self.unread_suffix

    def __str__(self) -> str:
        """Return the numbers in words."""
        kinds = "deleted", "emptied", "now the same as another", "switched off", "now with a suffix that is not read"
        return ", ".join(f"{count} {kind}" for count, kind in zip(self, kinds, strict=True) if count)


def unless_intended(source: str) -> str:
    """Return the end of the message about a loss of a source that is refused."""
    return (
        f"The last accepted version stays published. If this is intended, run again with --source {quote(source)} "
        "--accept-deletes or set documents.accept_deletes"
    )


def check_deletions(source: str, connection: "duckdb.DuckDBPyConnection", settings: DocumentSettings) -> Losses:
    """Count the documents that a version of RAW_DOCUMENTS lost, and refuse a loss of all or too large a share.

    A document is lost when its text is not in any document now, and its path is gone, or has no text or under
    a tenth of it. A renamed file is not lost, nor is one that exists and can no longer be read.

    Args:
        source: The source of the documents.
        connection: Has a view of each version, `before` and `now`.
        settings: The limits of a loss.

    Raises:
        SourceError: too much was lost, and `documents.accept_deletes` is off.
    """
    found = connection.execute(read_sql(__package__, "sql/lost")).fetchall()[0]
    before, losses, (example, now) = found[0], Losses(*found[1:6]), found[6:]
    all_of_it = before > 0 and now == 0 and sum(losses) == before
    if settings.accepts_deletes_of(source) or (losses.lost <= settings.max_deleted_share * before and not all_of_it):
        return losses
    bound = "all it had" if all_of_it else f"more than documents.max_deleted_share = {settings.max_deleted_share:g}"
    lost = before if all_of_it else losses.lost
    raise SourceError(
        f"source {source!r} lost {lost} of {before} documents at once ({losses}), {bound}; one of them is "
        f"{example!r}. {unless_intended(source)}"
    )
