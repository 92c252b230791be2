"""Formulas as LaTeX: OMML of Word and PowerPoint, MathML of OpenDocument, books and web pages.

Structure becomes LaTeX; characters such as α, ≤ and ∫ stay, as models and search know them. The libraries for OMML lose
the base of an accent, fail on it, or do not run on Python 3.11; that for MathML has no matrices.
"""

import re
from collections.abc import Callable, Iterable

from lxml import etree

OMML = "http://schemas.openxmlformats.org/officeDocument/2006/math"

_ESCAPES = str.maketrans(
    {one: f"\\{one}" for one in "$%#&_"}
    | {"{": r"\lbrace ", "}": r"\rbrace "}
    | dict.fromkeys("\u2061\u2062\u2063\u2064", "")
)
_ACCENTS = {
    **dict.fromkeys("^\u02c6\u0302", "hat"),
    **dict.fromkeys("~\u02dc\u0303", "tilde"),
    **dict.fromkeys("→⃗", "vec"),
    **dict.fromkeys(".˙\u0307", "dot"),
    **dict.fromkeys("¨\u0308", "ddot"),
    **dict.fromkeys("¯‾\u0304\u0305―", "overline"),
    **dict.fromkeys("_\u0332", "underline"),
    **dict.fromkeys("´\u0301", "acute"),
    **dict.fromkeys("⏞", "overbrace"),
    **dict.fromkeys("⏟", "underbrace"),
}
_FUNCTIONS = ("sin", "cos", "tan", "log", "ln", "exp", "lim", "max", "min", "det")
_TEX = ("application/x-tex", "TeX", "LaTeX")
_DISPLAYED = re.compile(r"^\{\\(?:displaystyle|textstyle) (.*)\}$", re.DOTALL)  # as all on Wikipedia have it


def as_text(formula: etree._Element) -> str:
    """Return an element `oMath` or `math` for use in a text, `$…$` on one line; "" for an empty one."""
    try:
        latex = _write(formula)
    except RecursionError:
        latex = " ".join(map(str, formula.itertext()))
    latex = " ".join(latex.split())
    return f"${latex}$" if latex else ""


def _write(node: etree._Element) -> str:
    name = _name(node)
    if name.endswith("Pr"):  # properties, which are not shown
        return ""
    writer = _WRITERS.get(name)
    return writer(node) if writer else _write_all(node)


def _write_all(nodes: Iterable[etree._Element]) -> str:
    return "".join(map(_write, nodes))


def _name(node: etree._Element) -> str:
    """Return the name of an element without namespace; "" for a comment."""
    return node.tag.rpartition("}")[2].rpartition(":")[2] if isinstance(node.tag, str) else ""


def _nothing(node: etree._Element) -> str:
    return ""


def _text(node: etree._Element) -> str:
    text = " ".join("".join(map(str, node.itertext())).split()) or " "
    return f"\\{text} " if text in _FUNCTIONS else text.translate(_ESCAPES)


def _group(latex: str) -> str:
    """Return LaTeX as an argument, without braces if it is one character."""
    return latex.strip() if len(latex.strip()) == 1 else f"{{{latex.strip()}}}"


def _scripts(base: str, *scripts: str) -> str:
    """Return LaTeX of a script below and one above; empty ones are left out."""
    return base.rstrip() + "".join(
        f"{mark}{_group(one)}" for mark, one in zip("_^", scripts, strict=True) if one.strip()
    )


def _fraction(top: str, bottom: str, *, bar: bool = True) -> str:
    return f"\\{'frac' if bar else 'binom'}{{{top}}}{{{bottom}}}"


def _root(degree: str, radicand: str) -> str:
    return f"\\sqrt{f'[{degree}]' if degree.strip() else ''}{{{radicand}}}"


def _accent(mark: str, base: str) -> str | None:
    command = _ACCENTS.get(mark.strip().removeprefix("\\"))
    return f"\\{command}{{{base.strip()}}}" if command else None


def _rows(rows: Iterable[Iterable[str]]) -> str:
    lines = r" \\ ".join(" & ".join(map(str.strip, row)) for row in rows)
    return f"\\begin{{matrix}} {lines} \\end{{matrix}}"


def _part(node: etree._Element, name: str) -> str:
    """Return the LaTeX of the parts of OMML with a name."""
    return "".join(map(_write_all, node.iterfind(f"{{*}}{name}")))


def _property(node: etree._Element, name: str, default: str) -> str:
    """Return a property of OMML."""
    found = node.find(f"{{*}}{_name(node)}Pr/{{*}}{name}")
    return default if found is None else str(found.get(f"{{{OMML}}}val", ""))


def _omml_fraction(node: etree._Element) -> str:
    return _fraction(_part(node, "num"), _part(node, "den"), bar=_property(node, "type", "bar") != "noBar")


def _omml_scripts(node: etree._Element) -> str:
    return _scripts(_part(node, "e"), _part(node, "sub"), _part(node, "sup"))


def _omml_limit(node: etree._Element) -> str:
    base, limit = _part(node, "e"), _part(node, "lim")
    return _accent(limit, base) or _scripts(base, *((limit, "") if _name(node) == "limLow" else ("", limit)))


def _omml_before(node: etree._Element) -> str:
    return _scripts("{}", _part(node, "sub"), _part(node, "sup")) + _part(node, "e")


def _omml_sum(node: etree._Element) -> str:
    return f"{_scripts(_property(node, 'chr', '∫'), _part(node, 'sub'), _part(node, 'sup'))} {_part(node, 'e')}"


def _omml_delimiters(node: etree._Element) -> str:
    begin, between, end = (
        _property(node, name, default).translate(_ESCAPES)
        for name, default in (("begChr", "("), ("sepChr", "|"), ("endChr", ")"))
    )
    return begin + between.join(map(_write_all, node.iterfind("{*}e"))) + end


def _omml_accent(node: etree._Element) -> str:
    base = _part(node, "e")
    mark = _property(node, "chr", "⏟" if _name(node) == "groupChr" else "\u0302")
    return _accent(mark, base) or _scripts(base, "", mark)


def _omml_bar(node: etree._Element) -> str:
    return f"\\{'overline' if _property(node, 'pos', 'bot') == 'top' else 'underline'}{{{_part(node, 'e')}}}"


def _omml_matrix(node: etree._Element) -> str:
    return _rows([_write_all(cell) for cell in row] for row in node.iterfind("{*}mr"))


def _omml_lines(node: etree._Element) -> str:
    return _rows([_write_all(line)] for line in node.iterfind("{*}e"))


def _math_scripts(node: etree._Element) -> str:
    base, *scripts = [*map(_write, node), "", "", ""][:3]
    if _name(node) in ("msup", "mover"):
        scripts.reverse()
    mark = "".join(scripts) if _name(node) in ("munder", "mover") else ""
    return _accent(mark, base) or _scripts(base, *scripts)


def _math_fenced(node: etree._Element) -> str:
    begin, end = (str(node.get(name, default)).translate(_ESCAPES) for name, default in (("open", "("), ("close", ")")))
    return begin + (node.get("separators", ",").strip()[:1] or "").join(map(_write, node)) + end


def _math_table(node: etree._Element) -> str:
    return _rows([_write(cell) for cell in row] for row in node)


def _semantics(node: etree._Element) -> str:
    for annotation in node:
        if _name(annotation) == "annotation" and annotation.get("encoding") in _TEX and annotation.text:
            tex: str = annotation.text
            return _DISPLAYED.sub(r"\1", tex.strip())
    return _write_all(node[:1])


_WRITERS: dict[str, Callable[[etree._Element], str]] = {
    **dict.fromkeys(("t", "mi", "mn", "mo", "mtext", "ms"), _text),
    **dict.fromkeys(("", "annotation", "annotation-xml", "mphantom", "phant"), _nothing),
    **dict.fromkeys(("sSub", "sSup", "sSubSup"), _omml_scripts),
    **dict.fromkeys(("limLow", "limUpp"), _omml_limit),
    **dict.fromkeys(("msub", "msup", "msubsup", "munder", "mover", "munderover"), _math_scripts),
    **dict.fromkeys(("acc", "groupChr"), _omml_accent),
    "f": _omml_fraction,
    "sPre": _omml_before,
    "nary": _omml_sum,
    "d": _omml_delimiters,
    "bar": _omml_bar,
    "m": _omml_matrix,
    "eqArr": _omml_lines,
    "rad": lambda node: _root(_part(node, "deg"), _part(node, "e")),
    "mfrac": lambda node: _fraction(_write_all(node[:1]), _write_all(node[1:]), bar=node.get("linethickness") != "0"),
    "msqrt": lambda node: _root("", _write_all(node)),
    "mroot": lambda node: _root(_write_all(node[1:]), _write_all(node[:1])),
    "mtable": _math_table,
    "mfenced": _math_fenced,
    "semantics": _semantics,
}
"""Writers of the elements of OMML and MathML; others are written as their content."""
