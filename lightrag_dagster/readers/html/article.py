"""The article of a page: what trafilatura takes for it, with what it passes over by mistake."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from copy import deepcopy

import trafilatura
from lxml import html as lxml_html
from trafilatura.settings import use_config

from lightrag_dagster.readers.html.blocks import HEADINGS
from lightrag_dagster.readers.html.passages import PageLine, is_apart, is_named_apart
from lightrag_dagster.readers.html.sections import letters

# By default a main text under 250 characters is given up for all text of the page, menus included.
_CONFIG = use_config()
_CONFIG.set("DEFAULT", "MIN_EXTRACTED_SIZE", "0")

_FEW = 0.5  # share of the page's prose; a text with less may be of the wrong part
_MOST_OF_IT = 0.8  # share of the prose that the right part has
_LISTED = 0.15  # share
_GONE = 0.2  # share of what was found
_LITTLE = 0.1  # share of what another part has
_DOUBTFUL = 0.25  # of a letter in a part that is no content by its name
_MOST_LEADS = 4  # paragraphs
_ARTICLE = 3  # sentences; a text with fewer is kept to its end
_TITLE = 30  # letters
_TEXT = ("p", "br", "body")
_OWN_LINES = ("li", "td", "th", "dd", "dt", "figcaption")
_OF_PARTS = ("ul", "ol", "dl", "table", "thead", "tbody", "tr")  # nothing without their frames
_LINKED = 0.8  # share of the letters
_LABEL_ENDS = re.compile("[:：»>]")
_MARKED = re.compile(r"([#>+*-]|\d+[.)])(?=\s)")
_IN_SCRIPTS = re.compile(r'articleBody|HowToStep|recipeInstructions|"acceptedAnswer"')
_KEPT_ATTRIBUTES = {"href", "src", "alt", "title", "colspan", "rowspan", "start", "lang"}


def extract_article(tree: lxml_html.HtmlElement, found: Sequence[PageLine]) -> str:
    """Return the main text of a prepared page as Markdown, "" if there is none."""
    text = _extract(tree)
    prose = [one for one in found if one.is_prose]
    kept = _kept(prose, text)
    if _is_little(prose, kept):
        other = _extract(_part(tree, prose))
        doubtful = _kept([one for one in found if one.is_sentence and one.named], text)
        if _is_better(_kept(prose, other), kept, _DOUBTFUL * _amount(doubtful)):
            text = other
    if len(letters(said := _in_scripts(tree))) > 2 * len(letters(text)):
        text = said
    return _without_leads(_with_lead(text, found), found)


def left_out(text: str, found: Sequence[PageLine]) -> str:
    """Return the passages that a text lacks for a reason: menus, links, comments, and what stands around the article.

    Everything else between its beginning and its end should be in it, and so should sentences in the same parts of the
    page, and closing headings with what is below them; all sentences should, if it has less than half of them.
    """
    lines = set(map(letters, text.split("\n")))
    said = {one.letters for one in found if not one.is_beside}  # what a table of contents repeats
    kept = [one.letters in lines and not (one.is_beside and one.letters in said) for one in found]
    prose = [place for place, one in enumerate(found) if one.is_prose]
    content = [place for place in prose if kept[place]]
    begin, end = (content[0], content[-1]) if content else (0, -1)
    parts = {found[place].element.getparent() for place in content}
    is_little = _amount(found[place] for place in content) < _FEW * _amount(found[place] for place in prose)

    closing = set(_closing(found, end, parts))

    def is_lost(place: int, one: PageLine) -> bool:
        if kept[place] or (one.is_beside and place not in closing):
            return False
        return (
            begin <= place <= end
            or place in closing
            or (one.is_prose and (is_little or one.element.getparent() in parts))
        )

    return "\n".join(one.text for place, one in enumerate(found) if not kept[place] and not is_lost(place, one))


def _closing(found: Sequence[PageLine], end: int, parts: Set[lxml_html.HtmlElement]) -> Iterator[int]:
    """Yield the places of headings below the last sentence in the parts that have sentences, and of what is below."""
    is_below = False
    for place in range(end + 1, len(found)):
        one = found[place]
        is_below = one.element.getparent() in parts if one.tag in HEADINGS else is_below
        if is_below and not one.apart and not one.named and not parts.isdisjoint(one.element.iterancestors()):
            yield place


def _extract(tree: lxml_html.HtmlElement) -> str:
    # Without `fast`, other extractors are tried on each page: slower, and worse with the rules of this module.
    markdown = trafilatura.extract(tree, output_format="markdown", include_comments=False, config=_CONFIG, fast=True)
    return markdown or ""


def _kept(passages: Sequence[PageLine], text: str) -> list[PageLine]:
    """Return the passages that are in a text."""
    key = letters(text)
    return [one for one in passages if one.letters in key]


def _amount(passages: Iterable[PageLine]) -> int:
    return sum(len(one.letters) for one in passages)


def _is_little(prose: Sequence[PageLine], kept: Sequence[PageLine]) -> bool:
    """Return True if less than half of the page's prose is kept, or none of a good part of it that is in lists."""
    items, kept_items = ([one for one in passages if not one.is_sentence] for passages in (prose, kept))
    total, listed = _amount(prose), _amount(items)
    return _amount(kept) < _FEW * total or (listed > _LISTED * total and _amount(kept_items) < _LISTED * listed)


def _is_better(other: Sequence[PageLine], kept: Sequence[PageLine], doubtful: float) -> bool:
    """Return True if another part of the page has more of its prose, and what was found, unless that was little."""
    both = {one.letters for one in other}
    gone = _amount(one for one in kept if one.letters not in both)
    return _amount(other) > _amount(kept) + doubtful and gone <= max(_GONE * _amount(kept), _LITTLE * _amount(other))


def _part(tree: lxml_html.HtmlElement, prose: Sequence[PageLine]) -> lxml_html.HtmlElement:
    """Return a page of the smallest part that has most of the prose, without names and what is apart by itself."""
    amounts = Counter[lxml_html.HtmlElement]()
    for one in prose:
        amounts.update(dict.fromkeys((one.element, *one.element.iterancestors()), len(one.letters)))
    least = _MOST_OF_IT * _amount(prose)
    within = [element for element, amount in amounts.items() if amount >= least and element.tag not in _OF_PARTS]
    part = max(within, key=lambda element: sum(1 for _ in element.iterancestors()), default=tree)
    main = deepcopy(part)
    main.tail = None
    for original, element in list(zip(part.iter(), main.iter(), strict=True))[1:]:
        is_frame = is_apart(element) or (original not in amounts and is_named_apart(element))
        if is_frame and element.getparent() is not None:
            element.drop_tree()
    for element in main.iter():
        for name in set(element.attrib) - _KEPT_ATTRIBUTES:
            del element.attrib[name]
        if element.tag in ("article", "header", "section", "main"):
            element.tag = "div"
    page = lxml_html.document_fromstring("<html><body></body></html>")
    main.tag = "main"
    page.find("body").append(main)
    return page


def _in_scripts(tree: lxml_html.HtmlElement) -> str:
    """Return the article that a page has only as data for its scripts."""
    scripts = tree.iterfind('.//script[@type="application/ld+json"]')
    if not any(_IN_SCRIPTS.search(script.text or "") for script in scripts):
        return ""
    body, _, _ = trafilatura.baseline(tree)
    return "\n\n".join(map(str, filter(None, (paragraph.text for paragraph in body))))


def _with_lead(text: str, found: Sequence[PageLine]) -> str:
    """Return a text with the sentences between the page's heading and its beginning, which frames of articles part."""
    key = letters(text)
    begin = next((place for place, one in enumerate(found) if one.is_sentence and _is_in(key, one.letters)), None)
    if begin is None:
        return text
    headings = [place for place, one in enumerate(found[:begin]) if one.tag == "h1"]
    if not headings:
        return text
    lead = [one for one in found[headings[-1] + 1 : begin] if one.is_prose and not _is_in(key, one.letters)]
    if not lead:
        return text
    lead = lead if len(lead) <= _MOST_LEADS else lead[:1]  # many are rather something else
    heading = found[headings[-1]]
    said = "\n\n".join(_MARKED.sub(r"\\\1", one.text, count=1) if _MARKED.match(one.text) else one.text for one in lead)
    first, _, rest = text.partition("\n")
    if first.startswith("#") and letters(first) == heading.letters:
        return f"{first}\n\n{said}\n{rest}"
    return f"{said}\n\n{text}"


def _is_in(key: str, passage: str) -> bool:
    """Return True if two thirds of a passage are in a text, which may say an image in it, or leave out a field."""
    third = -(-len(passage) // 3)
    return sum(passage[at : at + third] in key for at in range(0, len(passage), third)) > 1


def _without_leads(text: str, found: Sequence[PageLine]) -> str:
    """Return an article without captions and menus above its first sentence, and without what leads to other pages.

    That is a label with a title, as newspapers put it between paragraphs, and at the end labels and links. A text of
    few sentences stays as it is.
    """
    said = {one.letters: one for one in found}
    lines = [(line, said.get(letters(line))) for line in text.split("\n")]
    sentences = [place for place, (_, one) in enumerate(lines) if one and one.is_sentence and not one.apart]
    if len(sentences) < _ARTICLE:
        return text
    begin = sentences[0]
    above = [(line, one) for line, one in lines[:begin] if not (one and one.apart) or line.startswith("#")]
    below = [(line, one) for line, one in lines[begin:] if not (one and _is_teaser(one))]
    while not below[-1][0].strip() or _leads_on(*below[-1]):
        del below[-1]
    return "\n".join(line for line, _ in (*above, *below))


def _is_teaser(one: PageLine) -> bool:
    """Return True for a label, a colon or an arrow, and a link with the title of another page."""
    label = _LABEL_ENDS.split(one.text, maxsplit=1)[0]
    return one.linked >= _TITLE and 0 < len(letters(label)) == len(one.letters) - one.linked


def _leads_on(line: str, one: PageLine | None) -> bool:
    """Return True for a heading, a line before a colon, a link, and a few words of a part that is not text."""
    if line.startswith("#") or line.rstrip("* ").endswith((":", "：")):
        return True
    if one is None or one.tag in _OWN_LINES or _MARKED.match(one.text):
        return False
    return one.linked > _LINKED * len(one.letters) or (not one.is_sentence and (one.tag not in _TEXT or one.linked > 0))
