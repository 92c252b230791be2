"""Elements of WordprocessingML: their names, values and text."""

from collections.abc import Iterable, Iterator

from lxml import etree

OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/"
SPACE = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
W, R = f"{{{SPACE}}}", f"{{{OFFICE}relationships}}"

_STRICT = (
    (b"http://purl.oclc.org/ooxml/wordprocessingml/main", SPACE.encode()),
    (b"http://purl.oclc.org/ooxml/officeDocument/", OFFICE.encode()),
    (b"http://purl.oclc.org/ooxml/drawingml/", b"http://schemas.openxmlformats.org/drawingml/2006/"),
)
_OFF = ("0", "false", "off")


def parse(data: bytes) -> etree._Element:
    """Parse a part, with the names of strict files as those of usual ones, and without entities."""
    if b"purl.oclc.org" in data:
        for strict, usual in _STRICT:
            data = data.replace(strict, usual)
    root = etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False))
    if b"<!DOCTYPE" in data:
        etree.strip_tags(root, etree.Entity)
    return root


def name_of(element: etree._Element) -> str:
    """Return the name of an element without its namespace; "" for a comment."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def find(element: etree._Element | None, path: str) -> etree._Element | None:
    """Return the first element at a path of names such as `pPr/numPr`."""
    return None if element is None else element.find("/".join(f"{W}{name}" for name in path.split("/")))


def value(element: etree._Element | None, path: str) -> str | None:
    """Return the attribute `val` of the first element at a path of names."""
    found = find(element, path)
    return None if found is None else found.get(f"{W}val")


def number(text: str | None) -> int | None:
    """Return a text as a number that is not negative; None for anything else."""
    return int(text) if text and text.isdecimal() and len(text) < 10 else None


def is_on(element: etree._Element | None, path: str) -> bool | None:
    """Return a property that is switched on or off; None if it is not there."""
    found = find(element, path)
    return None if found is None else found.get(f"{W}val") not in _OFF


def text_of(element: etree._Element) -> str:
    """Return the text of all runs in an element; of several paragraphs, with blanks between."""
    texts = [
        (" " if one.tag != f"{W}t" else one.text or "") for one in element.iter(f"{W}t", f"{W}tab", f"{W}br", f"{W}p")
    ]
    return " ".join("".join(texts).split())


def new(name: str, text: str | None = None, **attributes: str) -> etree._Element:
    """Return a new element with attributes; one with a text is a run."""
    element = etree.Element(f"{W}{name}", {f"{W}{key}": one for key, one in attributes.items()}, nsmap={"w": SPACE})
    if text is not None:
        inner = etree.SubElement(element, f"{W}t", {"{http://www.w3.org/XML/1998/namespace}space": "preserve"})
        inner.text = text
    return element


def new_paragraph(text: str) -> etree._Element:
    """Return a paragraph of one run."""
    paragraph = new("p")
    paragraph.append(new("r", text))
    return paragraph


def all_of(root: etree._Element, *names: str) -> Iterator[etree._Element]:
    """Return the elements of some names, as a list, so that they can be replaced."""
    return iter(list(root.iter(*(f"{W}{name}" for name in names))))


def remove(element: etree._Element) -> None:
    """Remove an element; text after it belongs to no Word file."""
    parent = element.getparent()
    if parent is not None:
        parent.remove(element)


def replace(element: etree._Element, others: Iterable[etree._Element]) -> None:
    """Put other elements in the place of one."""
    for other in list(others):
        element.addprevious(other)
    remove(element)
