"""Drawings of a Word part: text boxes, pictures in groups, charts, diagrams; one of the versions of a drawing."""

from collections.abc import Callable

from lxml import etree

from lightrag_dagster.readers.office.word.xml import R, W, all_of, new_paragraph, replace

_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/%s}"
_A, _WP, _PIC, _CHART, _DIAGRAM = (
    _DRAWING % name for name in ("main", "wordprocessingDrawing", "picture", "chart", "diagram")
)
_ALTERNATIVES = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_VML = "{urn:schemas-microsoft-com:vml}"
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}oMath"
_CONTENT = (f"{W}t", f"{W}txbxContent", f"{_A}blip", f"{_CHART}chart", f"{_DIAGRAM}relIds", _MATH)
_SHAPES = ("oval", "line", "polyline", "arc", "curve")


def choose_alternatives(root: etree._Element) -> None:
    """Keep one version of what stands there in several: the first with content, which is the one of newer programs."""
    for alternatives in reversed(list(root.iter(f"{_ALTERNATIVES}AlternateContent"))):
        versions = [one for one in alternatives if one.tag in (f"{_ALTERNATIVES}Choice", f"{_ALTERNATIVES}Fallback")]
        chosen = next((one for one in versions if next(one.iter(*_CONTENT), None) is not None), None)
        if alternatives.getparent() is not None:
            replace(alternatives, chosen if chosen is not None else [])


def place_drawings(root: etree._Element, place_of: Callable[[str, str], str]) -> None:
    """Write drawings as mammoth reads them, and a paragraph for each chart and diagram, and for text drawn as letters.

    Args:
        root: The root of a part.
        place_of: Returns the text of a chart or diagram by its kind and its relationship; "" for none.
    """
    for drawing in all_of(root, "drawing"):
        _move_behind(drawing)
        _free_pictures(drawing)
        _free_boxes(drawing)
    for name in _SHAPES:
        for shape in root.iter(f"{_VML}{name}"):
            shape.tag = f"{_VML}shape"
    texts = [(one, place_of("chart", one.get(f"{R}id") or "")) for one in root.iter(f"{_CHART}chart")]
    texts += [(one, place_of("diagram", one.get(f"{R}dm") or "")) for one in root.iter(f"{_DIAGRAM}relIds")]
    texts += [(one, one.get("string") or "") for one in root.iter(f"{_VML}textpath")]
    for element, text in reversed(texts):
        paragraph = next(element.iterancestors(f"{W}p"), None)
        if text.strip() and paragraph is not None:
            paragraph.addnext(new_paragraph(text))


def _move_behind(drawing: etree._Element) -> None:
    """Put a drawing that text flows around behind its paragraph, since it may be anchored inside a word."""
    paragraph = next(drawing.iterancestors(f"{W}p"), None)
    if drawing.find(f"{_WP}anchor") is not None and paragraph is not None:
        run = etree.SubElement(paragraph, f"{W}r")
        run.append(drawing)


def _free_pictures(drawing: etree._Element) -> None:
    """Give each picture of a group a drawing of its own."""
    for picture in reversed(list(drawing.iter(f"{_PIC}pic"))):
        if picture.getparent().tag == f"{_A}graphicData" or next(picture.iterancestors(f"{W}drawing")) is not drawing:
            continue
        said = picture.find(f"{_PIC}nvPicPr/{_PIC}cNvPr")
        own = etree.Element(f"{W}drawing")
        inline = etree.SubElement(own, f"{_WP}inline")
        etree.SubElement(inline, f"{_WP}docPr", {"descr": said.get("descr") or "" if said is not None else ""})
        graphic = etree.SubElement(inline, f"{_A}graphic")
        etree.SubElement(graphic, f"{_A}graphicData").append(picture)
        drawing.addnext(own)


def _free_boxes(drawing: etree._Element) -> None:
    """Write text boxes of a drawing as those of older files, whose text follows their paragraph."""
    for box in reversed(list(drawing.iter(f"{W}txbxContent"))):
        if next(box.iterancestors(f"{W}drawing")) is not drawing:
            continue  # of a drawing in a text box
        old = etree.Element(f"{W}pict")
        shape = etree.SubElement(old, f"{_VML}shape")
        etree.SubElement(shape, f"{_VML}textbox").append(box)
        drawing.addnext(old)
