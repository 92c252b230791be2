"""The text of a passage or a document, by its place."""

import re
from typing import Any

from lightrag_dagster.errors import QueryError
from lightrag_dagster.query.arguments import text
from lightrag_dagster.query.knowledge_base import KnowledgeBase
from lightrag_dagster.serving.bases import aside
from lightrag_dagster.serving.results import lean

_MOST = 20_000
"""Most characters of a document at once."""

_PASSAGE = """
SELECT source, path, doc_id, chunk_index, content, heading, page, page_end, char_start, char_end
FROM chunks WHERE chunk_id = {id} ORDER BY source, path, chunk_index
"""
_DOCUMENT = """
SELECT source, path, doc_id, title, content, pages, date::VARCHAR AS date, author, status, error
FROM raw_documents WHERE doc_id = {id} OR source || '/' || path = {id}
"""


async def read(base: KnowledgeBase, id: str, page: int | None, last_page: int | None, start: int) -> dict[str, Any]:
    """Return a passage with every place, or a part of a document and where to read on.

    Raises:
        QueryError: nothing has the id, or the document has not these pages.
        StoreError: a table of the snapshot is missing or damaged.
    """
    quoted = "'" + text(id, "id").replace("'", "''") + "'"
    is_passage = re.match(r"chunk-", id) is not None
    rows = (await aside(base, "sql")((_PASSAGE if is_passage else _DOCUMENT).format(id=quoted))).to_pylist()
    if not rows:
        raise QueryError(f"nothing has the id {id!r}; take a chunk_id, a doc_id or source/path of a result")
    if is_passage:
        places = [{name: value for name, value in row.items() if name != "content"} for row in rows]
        return {"chunk_id": id, "content": rows[0]["content"], "citations": lean(places)}
    return _part(rows[0], page, last_page, start)


def _part(document: dict[str, Any], page: int | None, last_page: int | None, start: int) -> dict[str, Any]:
    content, pages = document.pop("content"), document.pop("pages")
    end = len(content)
    told = lean(document) | {"characters": end}
    if pages:
        first = page or 1
        last = max(first, last_page or first)
        if last > len(pages):
            raise QueryError(f"the document has pages 1 to {len(pages)}")
        start, end = max(start, pages[first - 1]), pages[last] if last < len(pages) else end
        told |= {"pages": len(pages), "page": first, "last_page": last}
    elif page is not None:
        raise QueryError("the document has no pages; read it from a character by start")
    stop = min(end, start + _MOST)
    more = {"next_start": stop, "left_out": end - stop} if stop < end else {}
    return told | {"char_start": start, "char_end": stop, "content": content[start:stop]} | more
