"""All text of a PDF by PDFium's plain text of its pages, with comments and the values of its form."""

from collections.abc import Iterable, Iterator

import pypdfium2

from lightrag_dagster.readers.pdf.annotations import find_comments
from lightrag_dagster.readers.pdf.fields import find_fields, open_form
from lightrag_dagster.readers.pdf.hyphens import with_whole_words
from lightrag_dagster.readers.pdf.plain import recall
from lightrag_dagster.readers.pdf.text import open_pages


def pdf(data: bytes) -> Iterable[str]:
    """Return the text of every page, of its comments and of its fields."""
    found = recall(data)
    return with_whole_words(list(_texts(data)) if found is None else found)


def _texts(data: bytes) -> Iterator[str]:
    document = pypdfium2.PdfDocument(data)
    try:
        has_form = open_form(document)
        for page in open_pages(document):
            if page is None:
                continue
            textpage = page.get_textpage()
            yield textpage.get_text_range()
            yield from (comment.text for comment in find_comments(page))
            if has_form:
                yield from (field.value for field in find_fields(document, page))
            textpage.close()
    finally:
        document.close()
