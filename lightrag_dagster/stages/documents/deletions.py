"""The guard against losing documents by mistake: an unmounted disk looks like a source that deleted everything."""

from importlib.resources import files
from typing import TYPE_CHECKING

from lightrag_dagster.errors import SourceError
from lightrag_dagster.settings import DocumentSettings

if TYPE_CHECKING:
    import duckdb


def check_deletions(source: str, connection: "duckdb.DuckDBPyConnection", settings: DocumentSettings) -> None:
    """Refuse a version of RAW_DOCUMENTS that lost everything, or too large a share of what the one before had.

    A document is lost when neither its path nor its text is there any more: a rename loses nothing, and neither does
    a file that is still there but can no longer be read.

    Args:
        source: The source of the documents.
        connection: Has a view of each version, `before` and `now`.
        settings: How much may be lost.

    Raises:
        SourceError: too much was lost, and `documents.accept_deletes` is off.
    """
    statement = files(__package__).joinpath("sql/lost.sql").read_text(encoding="utf-8")
    before, lost, example, now = connection.execute(statement).fetchall()[0]
    if before == 0 or settings.accept_deletes or (now > 0 and lost <= settings.max_deleted_share * before):
        return
    bound = f"more than documents.max_deleted_share = {settings.max_deleted_share:g}" if now else "all it had"
    raise SourceError(
        f"source {source!r} lost {lost} of {before} documents at once, {bound}; one of them is "
        f"{example!r}. The last accepted version stays published. If this is intended, run again "
        "with --accept-deletes or set documents.accept_deletes"
    )
