"""A chart of means with their intervals, as SVG: small enough to need no plotting library."""

from collections.abc import Sequence
from xml.etree import ElementTree

from lightrag_dagster.evaluation.bootstrap import Estimate

_WIDTH, _LEFT, _RIGHT, _TOP, _ROW = 640, 90, 60, 40, 28
_SCALE = (0.0, 0.25, 0.5, 0.75, 1.0)
_INK, _GRID, _MARK = "#333333", "#dddddd", "#2563eb"


def chart(title: str, rows: Sequence[tuple[str, Estimate]]) -> str:
    """Return SVG with a line for each row: its name, its mean as a dot, and its interval. All lie in 0..1."""
    height = _TOP + _ROW * len(rows) + 30
    image = ElementTree.Element(
        "svg",
        {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {_WIDTH} {height}", "width": str(_WIDTH)}
        | {"font-family": "sans-serif", "font-size": "13", "fill": _INK},
    )
    ElementTree.SubElement(image, "rect", {"width": "100%", "height": "100%", "fill": "white"})
    _text(image, _LEFT, 20, title)
    for tick in _SCALE:
        _line(image, _across(tick), _TOP, _across(tick), height - 25, _GRID, 1)
        _text(image, _across(tick), height - 8, f"{tick:g}", "middle")
    for place, (name, one) in enumerate(rows):
        middle = _TOP + _ROW * (place + 0.5)
        _text(image, _LEFT - 10, middle + 4, name, "end")
        _line(image, _across(one.low), middle, _across(one.high), middle, _MARK, 3)
        dot = {"cx": f"{_across(one.mean):.1f}", "cy": f"{middle:.1f}", "r": "6", "fill": _MARK}
        ElementTree.SubElement(image, "circle", dot)
        _text(image, _WIDTH - _RIGHT + 12, middle + 4, f"{one.mean:.3f}")
    return ElementTree.tostring(image, encoding="unicode")


def _across(share: float) -> float:
    return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)


def _text(image: ElementTree.Element, x: float, y: float, text: str, anchor: str = "start") -> None:
    place = {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor}
    ElementTree.SubElement(image, "text", place).text = text


def _line(image: ElementTree.Element, x1: float, y1: float, x2: float, y2: float, colour: str, width: int) -> None:
    ends = {name: f"{value:.1f}" for name, value in (("x1", x1), ("y1", y1), ("x2", x2), ("y2", y2))}
    ElementTree.SubElement(image, "line", ends | {"stroke": colour, "stroke-width": str(width)})
