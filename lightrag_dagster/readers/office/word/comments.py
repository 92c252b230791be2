"""Comments of reviewers: who said what about which words."""

from collections.abc import Mapping

from lxml import etree

from lightrag_dagster.readers.office.word.xml import W, text_of

_ANCHOR = 80  # characters of the words that a comment is about
_RANGES = tuple(f"{W}{name}" for name in ("commentRangeStart", "commentRangeEnd", "commentReference"))


def write_comments(root: etree._Element | None, document: etree._Element) -> str:
    """Return comments as a list in Markdown, in the order of the document."""
    if root is None:
        return ""
    comments = {one.get(f"{W}id") or "": one for one in root.iterfind(f"{W}comment")}
    anchors = _anchors(document)
    items = []
    for name in dict.fromkeys((*anchors, *comments)):
        text = text_of(comments[name]) if name in comments else ""
        if text:
            author = " ".join((comments[name].get(f"{W}author") or "").split())
            about = anchors.get(name, "")
            items.append(f"- Comment{f' by {author}' if author else ''}{f' on “{about}”' if about else ''}: {text}")
    return "\n".join(items)


def _anchors(document: etree._Element) -> Mapping[str, str]:
    """Return the words that each comment is about, by its identifier."""
    found = dict[str, str]()
    within = set[str]()
    for element in document.iter(*_RANGES, f"{W}t", f"{W}p"):
        if element.tag in _RANGES:
            name = element.get(f"{W}id") or ""
            found.setdefault(name, "")
            (within.add if element.tag == _RANGES[0] else within.discard)(name)
            continue
        text = " " if element.tag == f"{W}p" else element.text or ""
        for name in list(within):
            found[name] += text
            if len(found[name]) > 2 * _ANCHOR:
                within.discard(name)
    return {name: _short(" ".join(text.split())) for name, text in found.items()}


def _short(text: str) -> str:
    if len(text) <= _ANCHOR:
        return text
    return f"{text[:_ANCHOR].rpartition(' ')[0] or text[:_ANCHOR]} …"
