"""Names of elements and attributes in OpenDocument, without and with their namespaces."""

from lxml import etree

_SPACE = "{urn:oasis:names:tc:opendocument:xmlns:%s:1.0}"
TEXT, STYLE, TABLE, DRAW, FORM, OFFICE = (
    _SPACE % name for name in ("text", "style", "table", "drawing", "form", "office")
)
FORMATTING = _SPACE % "xsl-fo-compatible"
SVG = _SPACE % "svg-compatible"
LINK = "{http://www.w3.org/1999/xlink}href"
ID = "{http://www.w3.org/XML/1998/namespace}id"


def kind_of(element: etree._Element) -> str:
    """Return the name of an element without its namespace; "" for a comment."""
    return str(element.tag).rpartition("}")[2] if isinstance(element.tag, str) else ""


def number_of(element: etree._Element, name: str, default: int) -> int:
    """Return an attribute that is a small number."""
    said = str(element.get(name) or "")
    return int(said) if said.isdecimal() and len(said) < 8 else default
