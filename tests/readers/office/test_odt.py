"""OpenDocument texts by hand; `test_samples.py` reads those of other programs."""

import io
import zipfile

import pytest

from lightrag_dagster.readers.extraction import ExtractedText, extract_text

_SPACES = " ".join(
    f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for prefix, name in {
        **{name: name for name in ("office", "text", "table", "style", "form", "chart")},
        "draw": "drawing",
        "fo": "xsl-fo-compatible",
        "svg": "svg-compatible",
    }.items()
)
_SPACES += ' xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:dc="http://purl.org/dc/elements/1.1/"'
_SPACES += ' xmlns:loext="urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0"'


def odt(body: str, automatic: str = "", styles: str = "", **parts: str) -> bytes:
    """Return a text with a body, its own styles, and those of `styles.xml`."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr(
            "content.xml",
            f"<office:document-content {_SPACES}><office:automatic-styles>{automatic}</office:automatic-styles>"
            f"<office:body><office:text>{body}</office:text></office:body></office:document-content>",
        )
        archive.writestr("styles.xml", f"<office:document-styles {_SPACES}>{styles}</office:document-styles>")
        for name, text in parts.items():
            archive.writestr(name, text.replace("SPACES", _SPACES))
    return target.getvalue()


def read(body: str, automatic: str = "", styles: str = "", **parts: str) -> ExtractedText:
    found = extract_text(odt(body, automatic, styles, **parts), "a.odt")
    assert found.losses is not None
    assert found.losses.lost == 0, found.losses
    return found


def p(text: str, style: str = "") -> str:
    return f'<text:p text:style-name="{style}">{text}</text:p>'


def h(text: str, level: int = 1) -> str:
    return f'<text:h text:outline-level="{level}">{text}</text:h>'


def items(*texts: str, style: str = "", more: str = "") -> str:
    listed = "".join(f"<text:list-item>{text}</text:list-item>" for text in texts)
    return f'<text:list text:style-name="{style}" {more}>{listed}</text:list>'


def list_style(name: str, *forms: str, levels: int = 1) -> str:
    numbers = "".join(
        f'<text:list-level-style-number text:level="{n}" style:num-format="{form[0]}" style:num-suffix="{form[1:]}" '
        f'text:display-levels="{min(n, levels)}"/>'
        for n, form in enumerate(forms, start=1)
    )
    return f'<text:list-style style:name="{name}">{numbers}</text:list-style>'


def text_style(name: str, properties: str, family: str = "text", more: str = "") -> str:
    return (
        f'<style:style style:name="{name}" style:family="{family}" {more}>'
        f"<style:text-properties {properties}/></style:style>"
    )


# Reported case H3.
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            f"<text:list><text:list-header>{p('List header text')}</text:list-header>"
            f"<text:list-item>{h('Numbered heading in a list')}</text:list-item></text:list>{p('Body.')}",
            "List header text\n\n# Numbered heading in a list\n\nBody.",
        ),
        (
            f"<text:list><text:list-item>{p('One')}</text:list-item>"
            f"<text:list-header>{p('Between')}</text:list-header><text:list-item>{p('Two')}</text:list-item></text:list>",
            "- One\n\nBetween\n\n- Two",
        ),
        (items(items(items(h("Deep", 3)))) + p("Text"), "### Deep\n\nText"),
        (items(p("One") + items(p("Inner")), p("Two")), "- One\n  - Inner\n- Two"),
        (items(p("One") + p("more"), p("Two")), "- One\n\n  more\n- Two"),
        (items(items(p("Indented"))), "- Indented"),
    ],
)
def test_headers_headings_and_lists_in_lists(body: str, expected: str) -> None:
    assert read(body).text == expected


@pytest.mark.parametrize(
    ("body", "styles", "expected"),
    [
        (items(p("one"), p("two"), style="L"), list_style("L", "1."), "1. one\n2. two"),
        (items(p("one"), p("two"), style="L"), list_style("L", "a)"), "a) one\nb) two"),
        (
            items(p("one"), style="L") + p("x") + items(p("two"), style="L"),
            list_style("L", "1."),
            "1. one\n\nx\n\n1. two",
        ),
        (
            items(p("one"), style="L") + p("x") + items(p("two"), style="L", more='text:continue-numbering="true"'),
            list_style("L", "1."),
            "1. one\n\nx\n\n2. two",
        ),
        (
            items(p("Scope") + items(p("Supplier"), p("Buyer")), p("Law") + items(p("See 1.2")), style="L"),
            list_style("L", "1", "1", levels=2),
            "1 Scope\n  1.1 Supplier\n  1.2 Buyer\n2 Law\n  2.1 See 1.2",
        ),
        (
            items(p("five"), style="L").replace("<text:list-item", '<text:list-item text:start-value="5"'),
            list_style("L", "1."),
            "5. five",
        ),
        (items(h("Scope"), style="L") + p("x") + items(h("Law"), style="L", more='text:continue-numbering="true"'),
         list_style("L", "1"), "# 1 Scope\n\nx\n\n# 2 Law"),
    ],
)  # fmt: skip
def test_numbers_of_lists(body: str, styles: str, expected: str) -> None:
    assert read(body, styles).text == expected


def test_numbers_of_headings() -> None:
    outline = list_style("Outline", "1", "1", levels=2).replace("list-style ", "outline-style ")
    outline = outline.replace("list-style>", "outline-style>").replace("list-level", "outline-level")
    text = read(h("Scope") + h("Parts", 2) + h("Terms", 2) + h("Law"), styles=outline).text
    assert text == "# 1 Scope\n\n## 1.1 Parts\n\n## 1.2 Terms\n\n# 2 Law"


# Reported case H8.
@pytest.mark.parametrize(
    ("body", "properties", "expected"),
    [
        ("10<text:span text:style-name='T'>6</text:span> litres", 'style:text-position="super 58%"', "10^6 litres"),
        ("500<text:span text:style-name='T'>1)</text:span>", 'style:text-position="super 58%"', "500^1)"),
        ("Area in m<text:span text:style-name='T'>2</text:span>", 'style:text-position="33% 58%"', "Area in m²"),
        ("H<text:span text:style-name='T'>2</text:span>O", 'style:text-position="sub 58%"', "H2O"),
        ("<text:span text:style-name='T'>Hydro</text:span>tec", 'fo:font-weight="bold"', "Hydrotec"),
        ("A <text:span text:style-name='T'>weir</text:span>", 'fo:font-style="italic"', "A *weir*"),
        ("A<text:s text:c='3'/>b<text:tab/>c<text:line-break/>d", "", "A b c  \nd"),
        (
            "<text:ruby><text:ruby-base>東京</text:ruby-base><text:ruby-text>とう</text:ruby-text></text:ruby>に",
            "",
            "東京に",
        ),
        (
            "<text:ruby><text:ruby-base>漢</text:ruby-base><text:ruby-text>かん</text:ruby-text></text:ruby>"
            "<text:ruby><text:ruby-base><text:span>字</text:span></text:ruby-base><text:ruby-text>じ</text:ruby-text>"
            "</text:ruby>",
            "",
            "漢字",
        ),
        ("<text:ruby><text:ruby-base>東京</text:ruby-base></text:ruby>に", "", "東京に"),
        ("soft\u00adhyphen", "", "softhyphen"),
        ('<text:a xlink:href="https://example.org">link</text:a>', "", "[link](https://example.org)"),
        ("# no heading", "", "\\# no heading"),
    ],
)
def test_marks_inside_a_line(body: str, properties: str, expected: str) -> None:
    assert read(p(body), text_style("T", properties)).text == expected


@pytest.mark.parametrize(
    ("body", "styles"),
    [
        (p("A") + p("Two words", "P"), text_style("P", 'text:display="none"', "paragraph")),
        (p('A <text:span text:style-name="T">Two words</text:span>'), text_style("T", 'text:display="none"')),
        (p("A") + '<text:section text:display="none">' + p("Two words") + "</text:section>", ""),
        (p("A") + p('<text:hidden-paragraph text:is-hidden="true"/>Two words'), ""),
        (
            p("A") + p("Two words", "Child"),
            text_style("P", 'text:display="none"', "paragraph")
            + text_style("Child", "", "paragraph", 'style:parent-style-name="P"'),
        ),
    ],
)
def test_hidden_text_is_left_out_and_counted(body: str, styles: str) -> None:
    found = read(body, styles)
    assert (found.text, found.note) == ("A", "hidden text is left out: 2 words")


@pytest.mark.parametrize(
    ("field", "shown"),
    [
        ('<text:placeholder text:placeholder-type="text">&lt;Name&gt;</text:placeholder>', "By:"),
        ('<loext:content-control loext:showing-place-holder="true">Click.</loext:content-control>', "By:"),
        ("<loext:content-control>Ida</loext:content-control>", "By: Ida"),
    ],
)
def test_a_field_that_was_not_filled_is_empty(field: str, shown: str) -> None:
    found = read(p(f"By: {field}"))
    assert (found.text, found.note) == (shown, None)


def test_a_text_that_is_all_hidden_says_so() -> None:
    found = read(p("Gone", "P"), text_style("P", 'text:display="none"', "paragraph"))
    assert (found.text, found.why_empty) == ("", "all of its text is hidden")


def test_deleted_text_is_out_and_inserted_text_is_in() -> None:
    deleted = f'<text:changed-region text:id="c"><text:deletion>{p("GONE")}</text:deletion></text:changed-region>'
    body = 'It <text:change text:change-id="c"/><text:change-start text:change-id="d"/>stands<text:change-end/>.'
    assert read(f"<text:tracked-changes>{deleted}</text:tracked-changes>{p(body)}").text == "It stands."


@pytest.mark.parametrize(
    ("kind", "mark", "item"), [("footnote", "1", "1."), ("endnote", "i", "i."), ("footnote", "*", "*")]
)
def test_notes_are_at_the_end(kind: str, mark: str, item: str) -> None:
    note = f"<text:note-citation>{mark}</text:note-citation><text:note-body>{p('The note.')}</text:note-body>"
    text = read(p(f'Text<text:note text:note-class="{kind}">{note}</text:note> goes on.')).text
    assert text == f"Text[{mark}] goes on.\n\n{item} The note."


def test_comments_are_at_the_end() -> None:
    said = f"<dc:creator>Ida Wren</dc:creator><dc:date>2025</dc:date>{p('Check it.')}"
    comment = f"<office:annotation>{said}</office:annotation>"
    assert read(p(f"Text{comment} goes on.")).text == "Text goes on.\n\n- Comment by Ida Wren: Check it."


CELL = "<table:table-cell{}>{}</table:table-cell>"


def row(*cells: str) -> str:
    return f"<table:table-row>{''.join(cells)}</table:table-row>"


def cell(text: str, spans: str = "") -> str:
    return CELL.format(spans, p(text) if text else "")


def test_a_cell_shows_its_number_without_a_text() -> None:
    number = items("<text:p/>", style="L", more='text:continue-numbering="true"')
    rows = [row(cell(""), cell("Defect")), *(row(CELL.format("", number), cell(said)) for said in ("Leak", "Rust"))]
    text = read(f"<table:table>{''.join(rows)}</table:table>", list_style("L", "1.")).text
    assert text.split("\n")[2:] == ["| 1. | Leak |", "| 2. | Rust |"]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (
            [
                row(cell("Dept"), cell("Name")),
                row(cell("Gauging", ' table:number-rows-spanned="2"'), cell("Ida")),
                row("<table:covered-table-cell/>", cell("Per")),
            ],
            "| Dept | Name |\n| --- | --- |\n| Gauging | Ida |\n| Gauging | Per |",
        ),
        (
            [
                row(cell("A"), cell("B"), cell("C")),
                row(cell("x"), cell("both", ' table:number-columns-spanned="2"'), "<table:covered-table-cell/>"),
            ],
            "| A | B | C |\n| --- | --- | --- |\n| x | both | both |",
        ),
        (
            [
                f"<table:table-header-rows>{row(cell('A'), cell('B'))}</table:table-header-rows>",
                row(cell("", ' table:number-columns-repeated="1"'), cell("a | b")),
            ],
            "| A | B |\n| --- | --- |\n|  | a \\| b |",
        ),
        (
            [
                row(cell("A"), cell("B")),
                *(
                    row(cell(said, ' table:number-columns-repeated="2"')).replace("-row>", f"-row {times}>", 1)
                    for said, times in (("1", 'table:number-rows-repeated="2"'), ("", 'table:number-rows-repeated="9"'))
                ),
            ],
            "| A | B |\n| --- | --- |\n| 1 | 1 |\n| 1 | 1 |\n|  |  |",
        ),
    ],
)
def test_joined_cells_of_a_table(rows: list[str], expected: str) -> None:
    assert read(f"<table:table>{''.join(rows)}</table:table>").text == expected


def test_repeated_rows_are_read_within_a_bound_of_the_document() -> None:
    inner = cell("1", ' table:number-columns-repeated="300"')
    for _ in range(3):
        repeated = row(inner).replace("-row>", '-row table:number-rows-repeated="1000">', 1)
        inner = f"<table:table-cell><table:table>{repeated}</table:table></table:table-cell>"
    found = read(f"<table:table>{row(inner)}</table:table>")
    assert 10_000 < len(found.text) < 500_000
    assert found.note == "2940 repeated rows and cells of tables are left out"


@pytest.mark.parametrize(
    ("fields", "text", "expected"),
    [
        (
            '<form:checkbox form:id="c" form:label="Siren tested" form:current-state="checked"/>',
            "c",
            "[x] Siren tested",
        ),
        ('<form:checkbox form:id="c" form:label="Battery"/>', "c", "[ ] Battery"),
        ('<form:text form:id="c" form:current-value="Ida Wren"/>', "c", "Ida Wren"),
        (
            '<form:listbox form:id="c"><form:option form:label="North" form:current-selected="true"/></form:listbox>',
            "c",
            "North",
        ),
    ],
)
def test_fields_of_a_form(fields: str, text: str, expected: str) -> None:
    forms = f"<office:forms><form:form>{fields}</form:form></office:forms>"
    assert read(forms + p(f'<draw:control draw:control="{text}"/>')).text == expected


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        (f"<draw:frame><draw:text-box>{p('Boxed words')}</draw:text-box></draw:frame>", "Before after\n\nBoxed words"),
        (f"<draw:custom-shape>{p('In a shape')}</draw:custom-shape>", "Before after\n\nIn a shape"),
        (f"<draw:g><draw:rect>{p('In a group')}</draw:rect></draw:g>", "Before after\n\nIn a group"),
        (
            '<draw:frame><draw:image xlink:href="Pictures/a.png"/><svg:title>The weir</svg:title></draw:frame>',
            "Before after\n\nThe weir",
        ),
        (
            '<draw:frame><draw:image xlink:href="Pictures/a.png"/><svg:title>gauge.jpg</svg:title></draw:frame>',
            "Before after",
        ),
    ],
)
def test_drawings(inner: str, expected: str) -> None:
    assert read(p(f"Before {inner}after")).text == expected


def test_a_chart_is_its_title_and_its_numbers() -> None:
    numbers = f"<table:table>{row(cell('Gauge'), cell('Level'))}{row(cell('Corley'), cell('0.97'))}</table:table>"
    chart = f"<chart:chart><chart:title>{p('Levels')}</chart:title>{numbers}</chart:chart>"
    body = f"<office:body><office:chart>{chart}</office:chart></office:body>"
    part = f"<office:document-content SPACES>{body}</office:document-content>"
    frame = '<draw:frame><draw:object xlink:href="./Object 1"/><draw:image xlink:href="a.png"/></draw:frame>'
    text = read(p(frame), **{"Object 1/content.xml": part}).text
    assert text == "Levels\n\n| Gauge | Level |\n| --- | --- |\n| Corley | 0.97 |"


def test_a_paragraph_in_the_style_of_a_title_is_one() -> None:
    derived = text_style("P1", "", "paragraph", 'style:parent-style-name="Title"')
    found = read(p("Gauge survey", "P1") + p("Text"), derived)
    assert (found.title, found.text) == ("Gauge survey", "# Gauge survey\n\nText")


def test_a_table_in_a_text_is_an_attachment() -> None:
    table = "<office:document-content SPACES><office:body><office:spreadsheet/></office:body></office:document-content>"
    found = read("<text:p>The weir</text:p>", **{"Object 1/content.xml": table, "Object 2/content.xml": "<a/>"})
    assert found.note == "1 of 1 attachments are not read: Object 1; save them as files of their own"


def test_a_table_of_contents_is_left_out() -> None:
    contents = (
        f"<text:index-body><text:index-title>{p('Contents')}</text:index-title>{p('Liability 3')}</text:index-body>"
    )
    listed = f"<text:table-of-content>{contents}</text:table-of-content>"
    found = read(f"{listed}{h('Liability')}{p('We pay.')}")
    assert (found.text, found.note) == ("Contents\n\n# Liability\n\nWe pay.", None)
    assert read(f"{listed}{h('Costs')}").text == "Contents\n\nLiability 3\n\n# Costs"
