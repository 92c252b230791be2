"""The content of an OpenDocument text as HTML."""

from collections.abc import Iterator
from html import escape

from lxml import etree

from lightrag_dagster.readers.inline import letters
from lightrag_dagster.readers.office.open_document.drawings import Drawings
from lightrag_dagster.readers.office.open_document.names import LINK, TABLE, TEXT, kind_of, number_of
from lightrag_dagster.readers.office.open_document.numbering import Counter, Numbering
from lightrag_dagster.readers.office.open_document.styles import Look, Styles
from lightrag_dagster.readers.office.word.marks import label

_NOTHING = {
    *("tracked-changes", "forms", "variable-decls", "sequence-decls", "user-field-decls", "dde-connection-decls"),
    *("alphabetical-index-auto-mark-file", "soft-page-break", "table-column", "table-columns"),
    *("annotation-end", "number", "script", "change", "change-start", "change-end", "index-title-template"),
}
_NOT_FILLED = "{urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0}showing-place-holder"
_INDEX_SOURCE = "-source"
_MOST_REPEATED = 1000
_LONGEST_REPEATED = 300_000  # characters of HTML in a document, by repeated cells and rows


class Page:
    """A writer of a text; `left_out` has what is hidden, fields not filled, and how characters are read (ruby)."""

    def __init__(self, styles: Styles, drawings: Drawings) -> None:
        self.left_out: list[str] = []
        self.hidden: list[str] = []
        self._styles, self._drawings = styles, drawings
        self._numbering = Numbering(styles)
        self._headings: set[str] = set()
        self._notes: list[str] = []
        self._comments: list[str] = []
        self.not_repeated = 0  # rows and cells
        self._left = _LONGEST_REPEATED
        self._after: list[str] = []  # blocks that stand in a paragraph, such as text boxes

    def write(self, body: etree._Element) -> str:
        """Return a text with its notes and comments at the end."""
        self._headings = {*map(_letters, body.iter(f"{TEXT}h"))} - {""}
        parts = [self.blocks(body), *(f"<ul>{''.join(one)}</ul>" for one in (self._notes, self._comments) if one)]
        return "".join(parts)

    def blocks(self, parent: etree._Element) -> str:
        """Return the paragraphs, lists and tables in an element."""
        parts, code = list[str](), list[str]()
        for element in parent:
            is_code = kind_of(element) == "p" and self._look(element).preformatted
            if code and not is_code:
                parts.append(_code(code))
                code = []
            if is_code:
                code.append(self._inline(element, code=True))
            else:
                parts.append(self._block(element))
        return "".join([*parts, _code(code)] if code else parts)

    def _block(self, element: etree._Element) -> str:
        kind = kind_of(element)
        if kind in _NOTHING or kind.endswith(_INDEX_SOURCE) or not kind:
            return ""
        if self._is_hidden(element):
            self._hide(element)
            return ""
        if kind == "table-of-content":
            for entry in [one for one in element.iter(f"{TEXT}p") if _letters(one) in self._headings]:
                self._hide(entry, counted=False)
                entry.clear()
        if kind in ("p", "h"):
            return self._paragraph(element)
        if kind == "list":
            return _joined(self._list(element))
        if kind == "table":
            return f"<table>{''.join(self._rows(element, 'td'))}</table>"
        if drawn := self._drawings.read(element, self.blocks):
            return f"<p>{drawn.inline}</p>{drawn.blocks}"
        return self.blocks(element)

    def _paragraph(self, element: etree._Element, number: str = "") -> str:
        outer, self._after = self._after, []
        text, (after, self._after) = self._inline(element), (self._after, outer)
        tag = "p"
        if kind_of(element) == "h":
            level = number_of(element, f"{TEXT}outline-level", 1)
            number = number or self._numbering.heading(element, level)
            tag = f"h{min(max(level, 1), 6)}"
        elif self._look(element).title:
            tag = "h1"
        if number and text.strip():
            text = f"{escape(number)} {text}"
        return f"<{tag}>{text}</{tag}>{''.join(after)}"

    def _list(self, element: etree._Element, counter: Counter | None = None, level: int = 1) -> Iterator[str]:
        """Yield the items of a list, and between them what cannot stand in an item of Markdown: headings."""
        if counter is None or element.get(f"{TEXT}style-name"):
            first = next(element.iter(f"{TEXT}p", f"{TEXT}h"), None)
            counter = self._numbering.begin(element, self._look(first).list_style if first is not None else "")
        for item in element:
            if kind_of(item) == "list-header":
                yield self.blocks(item)
            elif kind_of(item) == "list-item":
                yield from self._item(item, counter, level)

    def _item(self, item: etree._Element, counter: Counter, level: int) -> Iterator[str]:
        children = [child for child in item if kind_of(child) not in ("", "number", "soft-page-break")]
        if not children:
            return
        number = ""
        if kind_of(children[0]) != "list":
            start = number_of(item, f"{TEXT}start-value", -1)
            number = item.findtext(f"{TEXT}number") or counter.next(level, start if start >= 0 else None)
        if kind_of(children[0]) == "list" or next(item.iter(f"{TEXT}h"), None) is not None:
            for child in children:
                if kind_of(child) == "list":
                    yield from self._list(child, counter, level + 1)
                else:
                    yield self._paragraph(child, number) if kind_of(child) in ("p", "h") else self._block(child)
                    number = ""
            return
        parts = [label(escape(number)) if number else ""]
        for place, child in enumerate(children):
            if kind_of(child) == "list":
                parts.append(_joined(self._list(child, counter, level + 1)))
            else:
                block = self._block(child)
                parts.append(block[3:].replace("</p>", "", 1) if not place and block.startswith("<p>") else block)
        yield f"<li>{''.join(parts)}</li>"

    def _rows(self, parent: etree._Element, tag: str) -> Iterator[str]:
        for element in parent:
            kind = kind_of(element)
            if kind == "table-row":
                row = "".join(self._cell(cell, tag) for cell in element if kind_of(cell) == "table-cell")
                times = number_of(element, f"{TABLE}number-rows-repeated", 1) if _has_text(element) else 1
                yield self._repeated(element, f"<tr>{row}</tr>", times)
            elif kind == "table-header-rows":
                yield f"<thead>{''.join(self._rows(element, 'th'))}</thead>"
            elif kind in ("table-rows", "table-row-group"):
                yield from self._rows(element, tag)

    def _cell(self, cell: etree._Element, tag: str) -> str:
        spans = "".join(
            f' {name}="{number_of(cell, f"{TABLE}number-{kind}-spanned", 1)}"'
            for name, kind in (("colspan", "columns"), ("rowspan", "rows"))
            if number_of(cell, f"{TABLE}number-{kind}-spanned", 1) > 1
        )
        times = number_of(cell, f"{TABLE}number-columns-repeated", 1)
        return self._repeated(cell, f"<{tag}{spans}>{self.blocks(cell)}</{tag}>", times)

    def _repeated(self, element: etree._Element, markup: str, times: int) -> str:
        """Return the markup of a row or cell as often as it is repeated, within its bound and that of the document."""
        shown = max(1, min(times, _MOST_REPEATED, 1 + self._left // len(markup)))
        self._left -= (shown - 1) * len(markup)
        if times > shown and _has_text(element):
            self.not_repeated += times - shown
        return markup * shown

    def _inline(self, element: etree._Element, *, code: bool = False) -> str:
        parts = [escape(element.text or "")]
        for child in element:
            parts += [self._run(child, code=code), escape(child.tail or "")]
        return "".join(parts)

    def _run(self, element: etree._Element, *, code: bool) -> str:
        """Return an element inside a paragraph."""
        kind = kind_of(element)
        if not kind or kind in _NOTHING:
            return ""
        if kind == "s":
            return " " * min(number_of(element, f"{TEXT}c", 1), _MOST_REPEATED)
        if kind in ("tab", "line-break"):
            return "\t" if kind == "tab" else "\n" if code else "<br>"
        beside = kind in ("ruby-text", "placeholder") or element.get(_NOT_FILLED) == "true"
        if beside or kind == "hidden-text" or self._is_hidden(element):
            self._hide(element, counted=not beside)
            return ""
        if kind == "note":
            return self._note(element)
        if kind == "annotation":
            self._comments.append(f"<li>{escape(_comment(element))}</li>")
            return ""
        if kind in ("p", "h", "list", "table"):
            self._after.append(self._block(element))
            return ""
        if drawn := self._drawings.read(element, self.blocks):
            self._after.append(drawn.blocks)
            return drawn.inline
        text = self._inline(element, code=code)
        if kind == "a":
            return f'<a href="{escape(element.get(LINK) or "")}">{text}</a>'
        return _marked(text, self._styles.look("text", element.get(f"{TEXT}style-name"))) if kind == "span" else text

    def _note(self, element: etree._Element) -> str:
        """Return the mark of a note, and keep its text for the end."""
        number = " ".join((element.findtext(f"{TEXT}note-citation") or "").split())
        body = element.find(f"{TEXT}note-body")
        text = self.blocks(body) if body is not None else ""
        self._notes.append(f"<li>{label(escape(f'{number}.' if number.isalnum() else number))}{text}</li>")
        return f"[{escape(number)}]"

    def _look(self, element: etree._Element) -> Look:
        return self._styles.look("paragraph", element.get(f"{TEXT}style-name"))

    def _is_hidden(self, element: etree._Element) -> bool:
        kind = kind_of(element)
        if kind == "section":
            display = element.get(f"{TEXT}display")
            return display == "none" or (display == "condition" and _is_true(element, "is-hidden"))
        if kind in ("p", "h"):
            marks = element.iterchildren(f"{TEXT}hidden-paragraph")
            return self._look(element).hidden or any(_is_true(one, "is-hidden") for one in marks)
        return kind == "span" and self._styles.look("text", element.get(f"{TEXT}style-name")).hidden

    def _hide(self, element: etree._Element, *, counted: bool = True) -> None:
        text = " ".join(" ".join(map(str, element.itertext())).split())
        self.left_out.append(text)
        self.hidden += text.split() if counted else []


def _marked(text: str, look: Look) -> str:
    """Return a text with the marks of its look."""
    marks = {
        "code": look.code,
        "s": look.struck,
        "em": look.italic,
        "strong": look.bold,
        "sup": look.raised > 0,
        "sub": look.raised < 0,
    }
    for tag, is_marked in marks.items():
        if is_marked and text.strip():
            text = f"<{tag}>{text}</{tag}>"
    return text


def _joined(items: Iterator[str]) -> str:
    """Return the items of a list as HTML, with what stands between them."""
    parts, listed = list[str](), False
    for item in items:
        if item.startswith("<li>") is not listed:
            listed = not listed
            parts.append("<ul>" if listed else "</ul>")
        parts.append(item)
    return "".join(parts) + "</ul>" * listed


def _code(lines: list[str]) -> str:
    return f"<pre>{chr(10).join(lines)}</pre>"


def _has_text(element: etree._Element) -> bool:
    return any(str(text).strip() for text in element.itertext())


def _letters(element: etree._Element) -> str:
    return letters("".join(map(str, element.itertext())))


def _comment(element: etree._Element) -> str:
    author = " ".join((element.findtext("{http://purl.org/dc/elements/1.1/}creator") or "").split())
    text = " ".join(" ".join("".join(map(str, one.itertext())) for one in element.iter(f"{TEXT}p")).split())
    return f"Comment by {author}: {text}" if author else f"Comment: {text}"


def _is_true(element: etree._Element, name: str) -> bool:
    return str(element.get(f"{TEXT}{name}")) == "true"
