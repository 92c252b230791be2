import io
import zipfile
from pathlib import Path

import pytest
from lxml import etree

from lightrag_dagster.readers.extraction import extract_text
from lightrag_dagster.readers.html.markup import to_markdown
from lightrag_dagster.readers.office.formulas import OMML, as_text

SAMPLES = Path(__file__).parents[1] / "samples" / "formulas"
KINDS = ("docx", "odt", "pptx", "epub", "html")


def omml(content: str) -> str:
    """Return a formula of Word, whose elements and attributes are all of one namespace."""
    parsed = etree.fromstring(f"<oMath>{content}</oMath>")
    for element in parsed.iter(etree.Element):
        element.tag = f"{{{OMML}}}{element.tag}"
        for name in list(element.attrib):
            element.set(f"{{{OMML}}}{name}", element.attrib.pop(name))
    return as_text(parsed)


def mathml(content: str) -> str:
    return as_text(etree.fromstring(f'<math xmlns="http://www.w3.org/1998/Math/MathML">{content}</math>'))


def run(text: str) -> str:
    return f"<r><rPr><sty val='p'/></rPr><t>{text}</t></r>"


X, Y, TWO, SUM = run("x"), run("y"), run("2"), run("a+b")


@pytest.mark.parametrize(
    ("content", "latex"),
    [
        (X, "x"),
        ("", None),
        (f"<f><num>{X}</num><den>{SUM}</den></f>", r"\frac{x}{a+b}"),
        (f"<f><fPr><type val='noBar'/></fPr><num>{X}</num><den>{TWO}</den></f>", r"\binom{x}{2}"),
        (f"<sSup><e>{X}</e><sup>{SUM}</sup></sSup>", "x^{a+b}"),
        (f"<sSubSup><e>{X}</e><sub>{TWO}</sub><sup>{Y}</sup></sSubSup>", "x_2^y"),
        (f"<sPre><sub>{TWO}</sub><sup>{Y}</sup><e>{X}</e></sPre>", "{}_2^yx"),
        (f"<rad><radPr><degHide/></radPr><deg/><e>{X}</e></rad>", r"\sqrt{x}"),
        (f"<rad><deg>{TWO}</deg><e>{X}</e></rad>", r"\sqrt[2]{x}"),
        (f"<nary><sub>{X}</sub><sup>{Y}</sup><e>{TWO}</e></nary>", "∫_x^y 2"),
        (f"<nary><naryPr><chr val='∑'/></naryPr><sub/><sup/><e>{X}</e></nary>", "∑ x"),
        (f"<d><e>{X}</e><e>{Y}</e></d>", "(x|y)"),
        (f"<d><dPr><begChr val='{{'/><endChr val=''/></dPr><e>{X}</e></d>", r"\lbrace x"),
        (f"<acc><e>{X}</e></acc>", r"\hat{x}"),
        (f"<acc><accPr><chr val='‾'/></accPr><e>{X}</e></acc>", r"\overline{x}"),
        (f"<acc><accPr><chr val='⃩'/></accPr><e>{X}</e></acc>", "x^⃩"),
        (f"<groupChr><e>{SUM}</e></groupChr>", r"\underbrace{a+b}"),
        (f"<bar><barPr><pos val='top'/></barPr><e>{X}</e></bar>", r"\overline{x}"),
        (f"<bar><e>{X}</e></bar>", r"\underline{x}"),
        (f"<func><fName>{run('log')}</fName><e>{X}</e></func>", r"\log x"),
        (f"<limLow><e>{run('lim')}</e><lim>{SUM}</lim></limLow>", r"\lim_{a+b}"),
        (f"<limUpp><e>{X}</e><lim>{run('‾')}</lim></limUpp>", r"\overline{x}"),
        (
            f"<m><mr><e>{X}</e><e>{Y}</e></mr><mr><e/><e>{TWO}</e></mr></m>",
            r"\begin{matrix} x & y \\  & 2 \end{matrix}",
        ),
        (f"<eqArr><e>{X}</e><e>{Y}</e></eqArr>", r"\begin{matrix} x \\ y \end{matrix}"),
        (f"<borderBox><e>{run('50%')}</e></borderBox>", r"50\%"),
        (f"<phant><e>{X}</e></phant>{Y}", "y"),
    ],
)
def test_omml(content: str, latex: str | None) -> None:
    assert " ".join(omml(content).split()) == (f"${' '.join(latex.split())}$" if latex else "")


@pytest.mark.parametrize(
    ("content", "latex"),
    [
        ("<mi>α</mi><mo>≤</mo><mn>2</mn>", "α≤2"),
        ("<mi>log</mi><mo>\u2061</mo><mi>x</mi>", r"\log x"),
        ("<mfrac><mi>x</mi><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow></mfrac>", r"\frac{x}{a+b}"),
        ("<msub><mi>x</mi><mtext>max</mtext></msub>", r"x_{\max}"),
        ("<msup><mi>x</mi><mn>12</mn></msup>", "x^{12}"),
        ("<msubsup><mo>∫</mo><mn>0</mn><mi>T</mi></msubsup>", "∫_0^T"),
        ("<munder><mo>∑</mo><mi>i</mi></munder>", "∑_i"),
        ("<mover><mi>Q</mi><mo>¯</mo></mover>", r"\overline{Q}"),
        ("<mover><mi>Q</mi><mi>n</mi></mover>", "Q^n"),
        ("<munderover><mo>∑</mo><mi>i</mi><mi>n</mi></munderover>", "∑_i^n"),
        ("<msqrt><mn>2</mn><mi>g</mi></msqrt>", r"\sqrt{2g}"),
        ("<mroot><mi>x</mi><mn>3</mn></mroot>", r"\sqrt[3]{x}"),
        ("<mfenced open='['><mi>x</mi><mi>y</mi></mfenced>", "[x,y)"),
        (
            "<mtable><mtr><mtd><mi>a</mi></mtd><mtd><mi>b</mi></mtd></mtr></mtable>",
            r"\begin{matrix} a & b \end{matrix}",
        ),
        ("<mphantom><mi>x</mi></mphantom><!-- y --><mi>z</mi>", "z"),
        ("<msup><mi>x</mi></msup>", "x"),
        ("<semantics><mi>x</mi><annotation encoding='StarMath 5.0'>y</annotation></semantics>", "x"),
        ("<semantics><mi>x</mi><annotation encoding='application/x-tex'>x_1 </annotation></semantics>", "x_1"),
        (
            r"<semantics><annotation encoding='TeX'>{\displaystyle x_{1}}</annotation></semantics>",
            "x_{1}",
        ),
    ],
)
def test_mathml(content: str, latex: str) -> None:
    assert mathml(content) == f"${latex}$"


def test_a_formula_of_any_depth_has_its_text() -> None:
    deep = "<msqrt>" * 1500 + "<mi>x</mi>" + "</msqrt>" * 1500
    parser = etree.XMLParser(huge_tree=True)
    assert as_text(etree.fromstring(f"<math>{deep}</math>", parser)) == "$x$"


@pytest.mark.parametrize("name", [*(f"pandoc.{kind}" for kind in KINDS), "libreoffice.docx", "libreoffice.odt"])
def test_formulas_stand_in_their_sentences(name: str) -> None:
    text = extract_text((SAMPLES / name).read_bytes(), name).text
    formula = r"Q = \frac{2}{3} C_d b \sqrt{2g}\, h^{3/2}" if "\\," in text else r"Q=\frac{2}{3}C_db\sqrt{2g}"
    assert f"The discharge is ${formula}" in text
    assert r"max}$ is the head." in text
    assert text.count(r"matrix} a & b \\ c & d \end{") == 1
    assert text.endswith("The gauge was calibrated in spring.")


def test_wikipedia_and_katex_show_a_formula_once() -> None:
    formula = (
        "<math><semantics><mi>E</mi><annotation encoding='application/x-tex'>E=mc^2</annotation></semantics></math>"
    )
    page = "<article><h1>Energy</h1><p>It is {}, where c is the speed of light.</p></article>"
    hidden = f"<span class='mwe-math-element'><span style='display: none'>{formula}</span><img alt='E=mc^2'></span>"
    drawn = f"<span class='katex'><span>{formula}</span><span class='katex-html'>E=mc2</span></span>"
    for shown in (formula, hidden, drawn):
        text = extract_text(page.format(shown).encode(), "page.html").text
        assert text == "# Energy\n\nIt is $E=mc^2$, where c is the speed of light."


def test_a_deck_without_a_choice_for_a_formula_is_read() -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(SAMPLES / "pandoc.pptx") as deck, zipfile.ZipFile(data, "w") as copy:
        for name in deck.namelist():
            copy.writestr(name, deck.read(name).replace(b"mc:Choice", b"mc:Chosen"))
    assert extract_text(data.getvalue(), "deck.pptx").text.startswith("## Discharge")


@pytest.mark.parametrize("formula", ["<m:math><m:msup><m:mi>x</m:mi><m:mn>2</m:mn></m:msup></m:math>", "<math>x&sup2;"])
def test_formulas_of_books_may_be_prefixed_or_damaged(formula: str) -> None:
    page = f"<html xmlns:m='http://www.w3.org/1998/Math/MathML'><body><p>Here {formula} is.</p></body></html>"
    assert to_markdown(page.encode(), xml=True).strip().startswith("Here $x^2$ is." if ":" in formula else "Here")
