"""Elements inside a line that the extraction of the main text would drop or show as tags."""

import re

from lxml import etree
from lxml import html as lxml_html

from lightrag_dagster.readers.html.blocks import BLOCKS
from lightrag_dagster.readers.html.sections import letters
from lightrag_dagster.readers.inline import STRUCK, alternative_text, check_box, parts_number, raised

_LINES = ("p", "li", "td", "th", "dd", "dt", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "figcaption", "summary")
_DROPPED = ("button", "label", "output", "time", "noindex", "meter", "blink")  # by the extraction, with their text
_IN_NUMBER = "in-number"
_PLAIN = ("u", "ins", "bdi")
_FIELDS = "input", "select", "textarea"
_NO_TEXT = {*BLOCKS, *_DROPPED, *_FIELDS, "a", "option", "script", "style", "noscript"}
_SENTENCE = 20  # letters
_QUOTES = "“{}”"
_NO_WORDS = ("¶", "↑", "↩", "^")  # links after the headings of Sphinx, MkDocs and others, and beside notes
_LOOKS = {"sup": r"vertical-align:\s*super", "del": STRUCK}
"""Elements of HTML by the styles that look like them."""

_BOXES = {"checkbox-on": True, "checkbox-off": False, "fa-check-square-o": True, "fa-square-o": False}
"""Check boxes that are drawn, of Notion and Asciidoctor, by their names."""

_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|<!--|-->", re.DOTALL)
_CLASS = re.compile(r"(?:^|[,{;])\s*(?:span)?\.([\w-]+)\s*(?=,|$)")  # alone: `.sale .price` is not each price
_NOTE = re.compile(r"[\[(]?\d{1,3}[\])]?")


def write_marks(tree: lxml_html.HtmlElement) -> None:
    """Turn marks of a page into text: superscripts, quotation marks, check boxes, buttons and images in a sentence."""
    for element in list(tree.iter("template", "rp", "rt", "rtc")):
        element.drop_tree()
    sheets = _COMMENT.sub("", "".join(sheet.text or "" for sheet in tree.iter("style")))
    rules = [rule.rpartition("{") for rule in sheets.split("}")]
    for tag, look in _LOOKS.items():
        styled = {one for names, _, style in rules if re.search(look, style) for one in _CLASS.findall(names)}
        for span in tree.iter("span"):
            if re.search(look, span.get("style") or "") or not styled.isdisjoint(span.classes):
                span.tag = tag
    _write_check_boxes(tree)
    for bold in tree.iter("b", "strong"):
        previous, text = bold.getprevious(), bold.text or ""
        before = (previous.tail if previous is not None else bold.getparent().text) or ""
        if not len(bold) and (parts_number(before, text) or parts_number(text, bold.tail or "")):
            bold.tag = _IN_NUMBER
    etree.strip_tags(tree, _IN_NUMBER)
    for element in list(tree.iter("sup", "sub", "q", "img", *_PLAIN, *_DROPPED)):
        if element.getparent() is None:
            continue
        if element.tag == "sup":
            _write_raised(element)
        elif element.tag == "sub" or element.tag in _PLAIN:
            element.drop_tag()
        elif element.tag == "q":
            element.text = _QUOTES[0] + (element.text or "")
            element.tail = _QUOTES[-1] + (element.tail or "")
            element.drop_tag()
        elif element.tag == "img":
            _write_image(element)
        elif _is_in_line(element) or (
            element.tag == "time" and next(element.iterancestors("td", "dd"), None) is not None
        ):
            element.drop_tag()


def write_note_marks(tree: lxml_html.HtmlElement) -> None:
    """Turn the numbers of notes that are links within the page into text, and remove links without words.

    With links, the extraction would take short notes for a menu, and leave them out.
    """
    for link in list(tree.iter("a")):
        text = link.text_content().strip(" \n\ufe0e\ufe0f")
        if text in _NO_WORDS:
            link.drop_tree()
        elif not text and (link.find(".//img") is None or next(link.iterancestors("figure"), None) is not None):
            link.drop_tag()
        elif _NOTE.fullmatch(text) and link.xpath("starts-with(@href, '#') and not(ancestor::sup or .//sup)"):
            if (link.tail or "")[:1].isalnum():
                link.tail = f" {link.tail}"
            link.drop_tag()


def _write_raised(element: lxml_html.HtmlElement) -> None:
    """Write a superscript as text; one that leads to a note of the page stands in brackets."""
    text = element.text_content()
    link = next(element.iter("a"), element.getparent() if element.getparent().tag == "a" else None)
    if link is not None and (link.get("href") or "").startswith("#"):
        mark = text.strip().strip("[]")
        text = f"[{mark}]" if mark else ""
    else:
        text = raised(_text_before(element), text)
    element.clear(keep_tail=True)
    element.text = text
    element.drop_tag()


def _text_before(element: lxml_html.HtmlElement) -> str:
    """Return the text right before an element, in its line."""
    before, place = "", element
    while not before and place is not None and place.tag not in BLOCKS and place.tag not in _LINES:
        previous = place.getprevious()
        if previous is not None:
            before = previous.tail or previous.text_content()
        else:
            before = place.getparent().text or "" if place.getparent() is not None else ""
        place = place.getparent()
    return str(before)


def _write_image(image: lxml_html.HtmlElement) -> None:
    """Write what is said in place of an image, set apart from words; a word that stands alone is none of a text."""
    text = alternative_text(image.get("alt") or "")
    if not text or (image.get("src") or "").startswith(("data:", "cid:")):
        return
    around = (next(image.iterancestors(*tags), None) for tags in (_LINES, ("figure",)))
    if any(letters(text) in letters(one.text_content()) for one in around if one is not None):
        return  # it is the link or the caption beside it
    if _is_in_line(image) or (_is_alone(image) and " " in text):
        image.clear(keep_tail=True)
        image.tag, image.text = "span", f" {text} "
        image.drop_tag()


def _is_alone(image: lxml_html.HtmlElement) -> bool:
    """Return True for an image in a paragraph or a figure that has nothing else."""
    around = next(image.iterancestors("p", "figure"), None)
    return around is not None and not around.text_content().strip() and len(list(around.iter("img"))) == 1


def _write_check_boxes(tree: lxml_html.HtmlElement) -> None:
    """Write the state of check boxes before their labels; a form that has only such fields is a list of them."""
    for form in list(tree.iter("form", "fieldset")):
        fields = [one for one in form.iter(*_FIELDS) if one.get("type") not in ("hidden", "submit", "button", "reset")]
        boxes = [one for one in fields if _is_box(one)]
        if len(boxes) == len(fields) and (boxes or form.tag == "fieldset"):
            form.tag = "div"
            for legend in form.iter("legend"):
                legend.tag = "p"
            for label in list(form.iter("label")):
                if label.find("input") is not None and not _is_in_line(label):
                    label.tag = "p"
    for drawn in list(tree.iter("div", "i")):
        if (name := next(filter(drawn.classes.__contains__, _BOXES), None)) is not None:
            drawn.text = f"{check_box(_BOXES[name])} "
            drawn.drop_tag()
    for task in tree.xpath("//ul[@class='inline-task-list']/li"):  # of Confluence
        task.text = f"{check_box('checked' in task.classes)} {(task.text or '').lstrip()}"
    for box in list(tree.iter("input")):
        if _is_box(box) and next(box.iterancestors("form"), None) is None:
            box.tag, box.text = "span", f"{check_box(box.get('checked') is not None)} "
            box.tail = (box.tail or "").lstrip()
            if box.getparent().tag == "label" and next(box.iterancestors("li"), None) is not None:
                box.getparent().drop_tag()
            box.drop_tag()


def _is_box(field: lxml_html.HtmlElement) -> bool:
    """Return True for a box that is shown; GitHub hides those that begin its items from screen readers."""
    if field.tag != "input" or field.get("type") not in ("checkbox", "radio"):
        return False
    is_first = field.getprevious() is None and not (field.getparent().text or "").strip()
    return not field.get("aria-hidden") or (is_first and next(field.iterancestors("li"), None) is not None)


def _is_in_line(element: lxml_html.HtmlElement) -> bool:
    """Return True if an element is within a line of text, with words before or behind it.

    A date has some before it in its paragraph, or a sentence; other dates are of a line that says who wrote when.
    """
    is_byline = element.tag == "time" and next(element.iterancestors("li"), None) is None
    least = _SENTENCE if is_byline else 1
    place, before = element, ""
    while (parent := place.getparent()) is not None:
        before += parent.text or ""
        before += "".join(one.text_content() + (one.tail or "") for one in place.itersiblings(preceding=True))
        if parent.tag == "p" and any(map(str.isalnum, before)):
            return True
        texts = [parent.text, *(child.tail for child in parent)]
        texts += [one.text_content() for one in parent if one is not place and one.tag not in _NO_TEXT]
        if sum(sum(map(str.isalnum, text)) for text in texts if text) >= least:
            return True
        if parent.tag in _LINES or parent.tag in BLOCKS:
            return False
        place = parent
    return False
