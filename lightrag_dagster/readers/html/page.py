"""The main text of an HTML page, as Markdown. Slow to import, so it is imported only to read a page."""

import logging
import re
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from lxml import etree
from lxml import html as lxml_html

from lightrag_dagster.core.text.figures import mark_of
from lightrag_dagster.core.text.sanitise import FORBIDDEN
from lightrag_dagster.readers.content import Content, Properties, UnreadableError, make_properties
from lightrag_dagster.readers.decoding import decode
from lightrag_dagster.readers.html.article import extract_article, left_out
from lightrag_dagster.readers.html.blocks import BLANK, end_lines_of_code, join_lines, make_paragraphs, wrap_content
from lightrag_dagster.readers.html.lists import tidy_lists
from lightrag_dagster.readers.html.marks import write_marks, write_note_marks
from lightrag_dagster.readers.html.passages import passages
from lightrag_dagster.readers.html.sections import drop_hidden, keep_sections, name_tabs
from lightrag_dagster.readers.html.tables import EMPTY, tidy_tables
from lightrag_dagster.readers.html.words import all_text, with_parameters
from lightrag_dagster.readers.images.figures import Figures
from lightrag_dagster.readers.office.formulas import as_text
from lightrag_dagster.readers.plain.front_matter import split_front_matter

# A page that cannot be extracted becomes a row with a reason; the library would also print it.
logging.getLogger("trafilatura").setLevel(logging.CRITICAL)

_CHARSET = re.compile(
    rb"""(?:<meta[^>]{0,200}?charset|<\?xml[^>]{0,100}?encoding)=["']?\s*([A-Za-z0-9_.:-]{1,40})""", re.IGNORECASE
)
_CHARSET_WITHIN = 4096

# Code is matched first and kept: backslashes in it are the author's. So is a bar, which is escaped only in tables.
_CODE_OR_ESCAPE = re.compile(r"(```.*?```|`[^`\n]*`)|\\([_*\[\]~<>`])", re.DOTALL)

_BLANKS = re.compile(rf"{BLANK}|&#(?:x2800|10240);", re.IGNORECASE)  # of a page itself: others are taken out again
_LATE_FENCE = re.compile(r"(?:(?<=\S) |(?<=[^\s`]))(`{3,})(?=\n)")  # as of code in an item, behind its text

_FRAMES = {"aside", "footer", "header", "nav", "form", "center", "section", "article"}
_INLINE = ("a", "big", "font", "nobr", "small")  # addresses of links are not in the text; many links are no content
_WHOLE = re.compile(
    r"<(?:!doctype|html|head|title|meta|link|style|body|main|article|nav|header|footer|aside)\b", re.IGNORECASE
)  # else a part of a page
_OF_HEAD = ("title", "meta", "link", "base", "script", "style", "noscript", "template")
_FORMULA_SPANS = {"mwe-math-element", "katex", "katex-display"}

_DATA_URL = re.compile(r"data:image/[a-z+.-]{1,20};base64,([A-Za-z0-9+/=\s]+)$")
_NAMES = {
    "author": ("author", "article:author", "dc.creator", "dcterms.creator"),
    "day": ("date", "article:published_time", "dc.date", "dcterms.date", "dcterms.created"),
    "tags": ("keywords", "article:tag", "dc.subject"),
}
"""Names of `<meta>` in HTML, Open Graph and Dublin Core, by property."""

_MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_WRITTEN = re.compile(rf" on (?:(?P<before>\d\d?) )?(?P<month>{_MONTHS}) (?:(?P<after>\d\d?), )?(?P<year>\d{{4}})$")


def read(data: bytes, figures: Figures | None = None) -> Content:
    """Read the main text of a page, headings as Markdown headings, without menus and footers.

    The title is `<title>`, else the first `<h1>`; author, date and tags are those of `<meta>`, unless front matter, as
    Jekyll has it, says otherwise. Images in the page itself, in `data:` URLs, are put into `figures`; others are not
    read.

    Raises:
        UnreadableError: the bytes cannot be decoded, or the page cannot be parsed.
    """
    front, page, note = _decoded(data)
    content = _extract(page, figures)
    said = {name: value for name, value in vars(front).items() if value}
    return replace(content, properties=replace(content.properties, **said), note=note)


def words(data: bytes) -> Iterator[str]:
    """Yield all text of a page, to compare the main text with."""
    yield all_text(_decoded(data)[1])


@lru_cache(maxsize=1)  # the reader and the check of what it lost decode the same page
def _decoded(data: bytes) -> tuple[Properties, str, str | None]:
    """Return the front matter of a page, the page, and a note about doubts in its encoding."""
    declared = _CHARSET.search(data, 0, _CHARSET_WITHIN)
    decoded, note = decode(data, declared[1].decode("ascii") if declared else None)
    front, page = split_front_matter(decoded)
    return front, page, note


def _extract(page: str, figures: Figures | None) -> Content:
    try:
        return _main_content(page, figures)
    except etree.ParserError:  # no element at all: an empty file, or only comments
        return Content("")
    except Exception as error:  # the parsers raise many kinds; one bad page fails alone
        raise UnreadableError(f"the HTML cannot be parsed ({type(error).__name__})") from error


def _main_content(page: str, figures: Figures | None) -> Content:
    tree = parse_page(_BLANKS.sub(" ", page))
    write_note_marks(tree)
    properties = _properties(tree)
    _write_formulas(tree)
    if figures:
        _mark_images(tree, figures)
    if is_cut_short(tree):
        return Content(all_text(page), properties)
    end_lines_of_code(tree)
    hidden = drop_hidden(tree)
    name_tabs(tree)
    join_lines(tree)
    found = passages(tree)
    keep_sections(tree)
    write_marks(tree)
    if not _WHOLE.search(page):
        keep_all(tree)
    tidy_tables(tree)
    make_paragraphs(tree)
    tidy_lists(tree)
    _keep_ampersands(tree)
    markdown = extract_article(_with_main(tree), found)
    if not markdown:
        return Content(all_text(page), properties)
    written = markdown.replace(EMPTY, "").replace(f"- {BLANK}", "").replace(BLANK, "")
    text = _unescape(_LATE_FENCE.sub(r"\n\1", written))
    return Content(text, properties, left_out=tuple(filter(None, [left_out(text, found), *hidden])))


def keep_all(tree: lxml_html.HtmlElement) -> None:
    """Make blocks of everything that the extraction of an article takes for no part of it, as in mails and cells."""
    for element in tree.iter(etree.Element):
        for name in ("class", "id", "role") if element.tag != "table" else ():
            element.attrib.pop(name, None)
        if element.tag in _FRAMES:
            element.tag = "div"
    etree.strip_tags(tree, *_INLINE)
    for body in tree.findall("body"):
        wrap_content(body, "div")


def _keep_ampersands(tree: lxml_html.HtmlElement) -> None:
    """Write `&` as HTML does: the extraction reads its result as such, in which `&region=` would be `®ion=`."""
    for element in tree.iter():
        if element.text and "&" in element.text and element.tag not in _OF_HEAD:
            element.text = element.text.replace("&", "&amp;")
        if element.tail and "&" in element.tail:
            element.tail = element.tail.replace("&", "&amp;")


def _write_formulas(tree: lxml_html.HtmlElement) -> None:
    """Replace MathML by LaTeX, and remove the pictures and spans that Wikipedia and KaTeX add to show it."""
    for formula in list(tree.iter("math")):
        text = as_text(formula)
        spans = [one for one in formula.iterancestors("span") if _FORMULA_SPANS & set(one.classes)]
        shown = spans[-1] if spans else formula
        shown.clear(keep_tail=True)
        shown.tag, shown.text = "span", text


def _mark_images(tree: lxml_html.HtmlElement, figures: Figures) -> None:
    """Replace the images inside a page by their marks."""
    for image in list(tree.iter("img")):
        found = _DATA_URL.match(image.get("src") or "")
        if found is None:
            continue
        try:
            name = figures.name_of(b64decode(found[1]))
        except ValueError:
            continue
        if name:
            image.tag, image.text = "p", mark_of(image.get("alt") or "", name)
            for around in image.iterancestors("figure", "picture"):
                around.tag = "div"  # trafilatura leaves the others out


def _properties(tree: lxml_html.HtmlElement) -> Properties:
    meta: dict[str, list[str]] = {}
    for element in tree.iterfind(".//meta[@content]"):
        name = element.get("name") or element.get("property") or ""
        meta.setdefault(name.lower(), []).append(element.get("content"))
    author, day, tags = ([value for name in names for value in meta.get(name, [])] for names in _NAMES.values())
    line = _first_text(tree, "//div[@class='page-metadata']") or ""  # of Confluence
    written = _WRITTEN.search(line)
    if written and (written["before"] or written["after"]):
        month = _MONTHS.split("|").index(written["month"]) + 1
        day.append(f"{written['year']}-{month:02}-{int(written['before'] or written['after']):02}")
    return make_properties(
        title=_first_text(tree, "//head/title") or _first_text(tree, "//h1"),
        author=author[:1] or _first_text(tree, "//div[@class='page-metadata']//span[@class='author']"),
        day=next(iter(day), None),
        tags=", ".join(tags),
        language=tree.get("lang"),
    )


def parse_page(page: str) -> lxml_html.HtmlElement:
    """Return the tree of a page, without comments."""
    # trafilatura loses text after a comment in a list item or a cell, and takes the comment for text in a heading.
    parser = lxml_html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=True)
    # Bytes, because lxml refuses a string that declares an encoding of its own.
    tree = lxml_html.document_fromstring(with_parameters(page).encode("utf-8", "ignore"), parser)
    head = tree.find("head")
    first = next((one for one in head if one.tag not in _OF_HEAD), None) if head is not None else None
    if head is not None and first is not None:  # the parser knows no `article` that ends a head
        body = tree.find("body")
        if body is None:
            body = lxml_html.Element("body")
            tree.append(body)
        body[:0] = [first, *first.itersiblings()]
    for node in tree.iter():
        for part in ("text", "tail"):
            text = getattr(node, part)
            if text and FORBIDDEN.search(text):  # lxml reads a form feed or `&#12;`, and refuses to write it
                setattr(node, part, FORBIDDEN.sub(" ", text))
    return tree


def _with_main(tree: lxml_html.HtmlElement) -> lxml_html.HtmlElement:
    """Mark the body as the main part of a page that marks none.

    trafilatura looks for `<main>` last, so this changes only pages in which it finds no other container; in those it
    would keep the paragraphs and drop headings and lists.
    """
    body = tree.find("body")
    if body is not None and tree.find(".//main") is None:
        wrap_content(body, "main")
    return tree


def _unescape(markdown: str) -> str:
    """Undo escapes of characters inside a line, which would spoil names; markers at its start stay escaped."""
    return _CODE_OR_ESCAPE.sub(lambda found: found[1] or found[2], markdown)


def is_cut_short(tree: lxml_html.HtmlElement) -> bool:
    """Return True if the parser gave up the page at its limit of depth, 2048 elements, and dropped the rest."""
    return any(entry.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT for entry in tree.getroottree().parser.error_log)


def _first_text(tree: lxml_html.HtmlElement, xpath: str) -> str | None:
    for element in tree.xpath(xpath):
        if text := " ".join(element.text_content().split()):
            return str(text).replace("&", "&amp;")  # as properties resolve references, which the parser did
    return None
