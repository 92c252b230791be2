"""The guard against losing documents by mistake: an unmounted disk looks like a source that deleted everything."""

import pyarrow as pa
import pyarrow.compute as pc

from lightrag_dagster.errors import SourceError
from lightrag_dagster.settings import DocumentSettings
from lightrag_dagster.stages.documents.table import with_text


def check_deletions(source: str, previous: pa.Table | None, current: pa.Table, settings: DocumentSettings) -> None:
    """Refuse a version of RAW_DOCUMENTS that lost everything, or too large a share of what `previous` had.

    A document is lost when neither its path nor its text is there any more: a rename loses nothing, and neither does
    a file that is still there but can no longer be read.

    Raises:
        SourceError: too much was lost, and `documents.accept_deletes` is off.
    """
    before = with_text(previous) if previous is not None else None
    if before is None or before.num_rows == 0 or settings.accept_deletes:
        return
    here = pc.is_in(before["doc_id"], current["doc_id"])
    said_elsewhere = pc.is_in(before["content_hash"], with_text(current)["content_hash"])
    lost = before.filter(pc.invert(pc.or_(here, said_elsewhere)))
    if current.num_rows > 0 and lost.num_rows <= settings.max_deleted_share * before.num_rows:
        return
    bound = (
        f"more than documents.max_deleted_share = {settings.max_deleted_share:g}" if current.num_rows else "all it had"
    )
    raise SourceError(
        f"source {source!r} lost {lost.num_rows} of {before.num_rows} documents at once, {bound}; one of them is "
        f"{lost['path'][0].as_py()!r}. The last accepted version stays published. If this is intended, run again "
        "with --accept-deletes or set documents.accept_deletes"
    )
