"""Formulas of Word and PowerPoint files, put into the text, since the reading libraries drop them.

python-pptx drops the whole text box with them.
"""

from lxml import etree

from lightrag_dagster.readers.office.formulas import OMML, as_text

_ALTERNATIVES = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_IN_POWERPOINT = "{http://schemas.microsoft.com/office/drawing/2010/main}m"
_FORMULA, _WITH_OTHERS = f"{{{OMML}}}oMath", f"{{{OMML}}}oMathPara"


def write_runs(root: etree._Element) -> None:
    """Replace the formulas of a part by runs of text."""
    for alternatives in list(root.iter(f"{_ALTERNATIVES}AlternateContent")):
        chosen = alternatives.find(f"{_ALTERNATIVES}Choice")
        if chosen is not None and next(chosen.iter(_FORMULA), None) is not None:
            for child in chosen:
                alternatives.addprevious(child)
            alternatives.getparent().remove(alternatives)
    for shown in dict.fromkeys(map(_outermost, list(root.iter(_FORMULA)))):
        paragraph = next(shown.iterancestors("{*}p"), shown.getparent())
        space = etree.QName(paragraph).namespace
        run = etree.Element(f"{{{space}}}r")
        text = etree.SubElement(run, f"{{{space}}}t", {"{http://www.w3.org/XML/1998/namespace}space": "preserve"})
        text.text = " ".join(filter(None, map(as_text, shown.iter(_FORMULA))))
        shown.getparent().replace(shown, run)


def _outermost(formula: etree._Element) -> etree._Element:
    """Return the outermost element that contains only a formula, or only formulas."""
    return [formula, *formula.iterancestors(_WITH_OTHERS, _IN_POWERPOINT)][-1]
