"""The text of a file, by the reader of its format, with text recognised in its images."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from lightrag_dagster.core.text.markdown import find_title
from lightrag_dagster.core.text.sanitise import sanitise, visible
from lightrag_dagster.readers.content import NO_PROPERTIES, Content, Figure, Properties, ReadingOptions, UnreadableError
from lightrag_dagster.readers.formats import FileFormat, format_of, media_type, module_of, reasons
from lightrag_dagster.readers.images.figures import Figures
from lightrag_dagster.readers.inline import whole_words
from lightrag_dagster.readers.losses import LostWords, check_losses

_PAGE_BREAK = "\n\n"
_USUAL = ReadingOptions()


@dataclass(frozen=True)
class ExtractedText:
    """The result of reading a file: a one-line title, never empty; the sanitised text; its media type; its properties.

    `pages` holds the character offset at which each page begins, and is empty for a format without pages. `why_empty`
    is the reason for an empty text; `note` names doubtful or missing parts. `losses` counts the words of the file that
    the text lacks; None for a format without this check, and for a file that it cannot read, which `note` says.
    """

    title: str
    text: str
    media_type: str
    pages: tuple[int, ...] = ()
    properties: Properties = NO_PROPERTIES
    why_empty: str | None = None
    figures: tuple[Figure, ...] = ()
    note: str | None = None
    losses: LostWords | None = None


def extract_text(
    data: bytes, path: str, options: ReadingOptions = _USUAL, page_done: Callable[[], None] = lambda: None
) -> ExtractedText:
    """Return title, text, pages and properties of a file with a supported suffix.

    The title is the document's own, else its first level-1 heading, else the name of the file. `page_done` is called
    after every page whose text was recognised.

    Raises:
        ValueError: the bytes cannot be read as the format of the suffix; the message is a reason without any path.
    """
    found = format_of(path)
    if found is None:
        raise UnreadableError(f"{media_type(path)} cannot be read")
    figures = _figures() if options.figures and found.has_figures else None
    if options.pdf_reader == "docling" and found.drawn_by == "pdf.text":
        with reasons():
            content: Content = module_of("pdf.docling").read(data, recognise_text=options.recognise_text)
    else:
        chosen = {"attachments": False} if found.has_attachments and not options.attachments else {}
        if options.keep_repeated_lines and found.drawn_by == "pdf.text":
            chosen = {"keep_repeated_lines": True}
        content = found.read(data, *([figures] if figures else []), **chosen)
    if content.drawn:
        content = _with_drawn(found, data, content, options, page_done)
    if found.has_headings:
        content = replace(content, text=_each(whole_words, content.text))
    text, pages = (sanitise(content.text), ()) if isinstance(content.text, str) else _joined(content.text)
    said = content.properties
    beside = (*content.left_out, said.title or "", said.author or "", *said.tags)
    losses, unchecked = check_losses(found.words, data, (*_parts(content.text), *beside))
    answered = f"lines of answered mails are left out: {content.answered:,}" * bool(content.answered)
    unseen = [f"{reason}: {count:,}" for reason, count in figures.left_out.items()] if figures else []
    title = said.title or (find_title(text) if found.has_headings else None)
    return ExtractedText(
        " ".join(sanitise(title or "").split()) or visible(path.rpartition("/")[2]),
        text,
        found.media_type,
        pages,
        said,
        content.why_empty,
        tuple(one for one in figures.found if one.name in text) if figures else (),
        "; ".join(filter(None, (content.note, answered, said.date_note, unchecked, *unseen))) or None,
        losses,
    )


def _each(change: Callable[[str], str], text: str | list[str]) -> str | list[str]:
    return change(text) if isinstance(text, str) else list(map(change, text))


def _parts(text: str | list[str]) -> Sequence[str]:
    return [text] if isinstance(text, str) else text


def _figures() -> Figures:
    from lightrag_dagster.readers.images.pixels import picture_of  # Pillow is slow to import

    return Figures(picture_of)


def _with_drawn(
    found: FileFormat, data: bytes, content: Content, options: ReadingOptions, page_done: Callable[[], None]
) -> Content:
    """Return the content of a file with the text in its images, or with the reason why it has none."""
    from lightrag_dagster.readers.images import ocr

    if not options.recognise_text or found.drawn_by is None:
        return ocr.with_reason(content, "documents.recognise_text reads it")
    with reasons():
        draw = partial(module_of(found.drawn_by).draw, data)
        return ocr.recognise(content, draw, page_done, keep=found.is_image)


def _joined(pages: list[str]) -> tuple[str, tuple[int, ...]]:
    """Return the sanitised texts of pages as one text, and the offset of each; an empty page takes no room."""
    parts: list[str] = []
    offsets: list[int] = []
    length = 0
    for page in map(sanitise, pages):
        part = _PAGE_BREAK + page if page and parts else page
        offsets.append(length + len(part) - len(page))
        length += len(part)
        parts += [part] if part else []
    return "".join(parts), tuple(offsets)
