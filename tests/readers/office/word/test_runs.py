import pytest

from lightrag_dagster.readers.extraction import extract_text
from tests.readers.office.word.documents import cell, paragraph, read, word


def run(content: str, properties: str = "") -> str:
    return f"<w:r><w:rPr>{properties}</w:rPr>{content}</w:r>"


def text(words: str, properties: str = "") -> str:
    return run(f'<w:t xml:space="preserve">{words}</w:t>', properties)


def form(data: str, instruction: str, result: str = "") -> str:
    return (
        run(f'<w:fldChar w:fldCharType="begin"><w:ffData>{data}</w:ffData></w:fldChar>')
        + run(f"<w:instrText> {instruction} </w:instrText>")
        + run('<w:fldChar w:fldCharType="separate"/>')
        + result
        + run('<w:fldChar w:fldCharType="end"/>')
    )


def control(state: str, sign: str = "<w:t>☐</w:t>") -> str:
    properties = f"<w:sdtPr><w14:checkbox>{state}</w14:checkbox></w:sdtPr>"
    return f"<w:sdt>{properties}<w:sdtContent>{run(sign)}</w:sdtContent></w:sdt>"


CHOICES = "".join(f'<w:listEntry w:val="{one}"/>' for one in ("North", "South", "West"))


# Reported case A4.
@pytest.mark.parametrize(
    ("content", "shown"),
    [
        (
            text("Table ") + f'<w:fldSimple w:instr="SEQ">{text("7")}</w:fldSimple>' + text(": Gauges"),
            "Table 7: Gauges",
        ),
        (f'<w:fldSimple w:instr="AUTHOR"><w:fldSimple>{text("Ida Wren")}</w:fldSimple></w:fldSimple>', "Ida Wren"),
        (f'<w:bdo w:val="ltr">{text("Weir")}</w:bdo>' + text(" 2"), "Weir 2"),
        (f'<w:dir w:val="rtl">{text("سد")}</w:dir>', "سد"),
        (form("", "REF a", text("clause 1.2")), "clause 1.2"),
        (text("Side: ") + form(f'<w:ddList><w:result w:val="1"/>{CHOICES}</w:ddList>', "FORMDROPDOWN"), "Side: South"),
        (text("Side: ") + form(f"<w:ddList>{CHOICES}</w:ddList>", "FORMDROPDOWN"), "Side: North"),
        (form(f'<w:ddList><w:result w:val="1"/>{CHOICES}</w:ddList>', "FORMDROPDOWN", text("South")), "South"),
    ],
)
def test_fields_are_what_they_show(content: str, shown: str) -> None:
    assert read(f"<w:p>{content}</w:p>").text == shown


NOT_SHOWN = '<w:showingPlcHdr w:val="0"/>'


NOT_STRUCK = '<w:dstrike w:val="false"/>'


@pytest.mark.parametrize(
    "look", ["<w:strike/>", "<w:dstrike/>", f"<w:strike/>{NOT_STRUCK}", '<w:dstrike w:val="1"/><w:strike w:val="0"/>']
)
def test_struck_text_is_marked(look: str) -> None:
    assert read(f"<w:p>{text('Pay ')}{text('500', look)}{text(' 400')}</w:p>").text == "Pay ~~500~~ 400"
    assert read(f"<w:p>{text('Pay ')}{text('500', NOT_STRUCK)}</w:p>").text == "Pay 500"


EMPTY = '<w:rStyle w:val="PlaceholderText"/>'
STRONG = '<w:rStyle w:val="Strong"/>'
LOCALISED = '<w:rStyle w:val="Platzhaltertext"/>'


def placeholder(content: str, said: str = "<w:showingPlcHdr/>") -> str:
    return f"<w:sdt><w:sdtPr>{said}</w:sdtPr><w:sdtContent>{content}</w:sdtContent></w:sdt>"


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (f"<w:p>{text('By: ')}{placeholder(text('Click or tap.', EMPTY))}{text(' (name)')}</w:p>", "By: (name)"),
        (f"<w:p>{text('By: ')}{placeholder(text('Klicken.', LOCALISED))}{text(' (name)')}</w:p>", "By: (name)"),
        (paragraph("Side:") + placeholder(paragraph("Choose an item.", run=EMPTY)), "Side:"),
        (f"<w:p>{text('By: ')}{placeholder(text('Ida'), '')}</w:p>", "By: Ida"),
        (f"<w:p>{text('By: ')}{placeholder(text('Ida', EMPTY), NOT_SHOWN)}</w:p>", "By: Ida"),
        # Filled by a program, which left the mark, and a filled field in an empty one.
        (f"<w:p>{text('By: ')}{placeholder(text('Ida'))}</w:p>", "By: Ida"),
        (f"<w:p>{text('By: ')}{placeholder(text('Ida', STRONG))}</w:p>", "By: **Ida**"),
        (f"<w:p>{placeholder(text('Click.', EMPTY) + placeholder(text('Ida', EMPTY), ''))}</w:p>", "Ida"),
        (
            f"<w:tbl><w:tr>{cell(paragraph('By'))}{placeholder(cell(paragraph('Click here.', run=EMPTY)))}</w:tr>"
            f"<w:tr>{cell(paragraph('a'))}{cell(paragraph('b'))}</w:tr></w:tbl>",
            "| By |  |\n| --- | --- |\n| a | b |",
        ),
    ],
)
def test_a_field_that_was_not_filled_is_empty(body: str, shown: str) -> None:
    style = '<w:style w:type="character" w:styleId="{}"><w:name w:val="{}"/></w:style>'
    styles = style.format("Platzhaltertext", "Placeholder Text") + style.format("Strong", "Strong")
    found = read(body, parts={"styles.xml": styles})
    assert (found.text, found.note) == (shown, None)


def begins(instruction: str) -> str:
    return mark("begin") + run(f"<w:instrText> {instruction} </w:instrText>")


def mark(kind: str) -> str:
    return run(f'<w:fldChar w:fldCharType="{kind}"/>')


def merged(value: str) -> str:
    return begins("MERGEFIELD x") + mark("separate") + text(value) + mark("end")


SHOW, END, MORE = mark("separate"), mark("end"), "</w:p><w:p>"
SIMPLE = f'<w:fldSimple w:instr="MERGEFIELD x">{text("400")}</w:fldSimple>'


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        (begins("=") + merged("400") + run("<w:instrText> * 1.25 </w:instrText>") + SHOW + text("500") + END, "500"),
        (begins("=") + SIMPLE + SHOW + text("500") + END + text(" euros"), "500 euros"),
        (begins("IF") + begins("=") + merged("1") + SHOW + text("A") + END + SHOW + text("B") + END, "B"),
        (begins("IF") + merged("A") + MORE + merged("B") + SHOW + text("C") + MORE + text("D") + END, "C\n\nD"),
        (begins("IF") + merged("A") + SHOW + text("B ") + merged("C") + text(" D") + END, "B C D"),
        (begins("SET x") + merged("400") + END + text("euros"), "euros"),
        (text("A") + begins("IF") + merged("B") + text("C"), "ABC"),
        (begins("IF") + merged("A") + SHOW + text("B"), "B"),
        (SHOW + END + merged("A") + END + text("B"), "AB"),
        (
            begins("IF") + f"<w:del>{mark('begin') + text('9') + END}</w:del>" + merged("A") + SHOW + text("B") + END,
            "B",
        ),
        (begins('HYPERLINK "https://a.example"') + merged("A") + SHOW + text("B") + END, "[B](https://a.example)"),
        (begins("IF") + form("<w:checkBox/>", "FORMCHECKBOX") + SHOW + text("B") + END, "B"),
        (begins("IF") + form(f"<w:ddList>{CHOICES}</w:ddList>", "FORMDROPDOWN") + SHOW + text("B") + END, "B"),
        (begins("IF") + run("<w:br/><w:sym w:font='Symbol' w:char='F061'/>") + SHOW + text("B") + END, "B"),
    ],
)
def test_of_a_field_its_result_alone_is_shown(content: str, shown: str) -> None:
    assert read(f"<w:p>{content}</w:p>").text == shown


# Reported cases A6, A6b.
@pytest.mark.parametrize(
    ("box", "shown"),
    [
        (control('<w14:checked w14:val="1"/>'), "[x] Siren"),
        (control('<w14:checked w14:val="0"/>'), "[ ] Siren"),
        (control(""), "[ ] Siren"),
        (control('<w14:checked w14:val="1"/>', '<w:sym w:font="MS Gothic" w:char="2612"/>'), "[x] Siren"),
        (form('<w:checkBox><w:default w:val="0"/><w:checked/></w:checkBox>', "FORMCHECKBOX"), "[x] Siren"),
        (form('<w:checkBox><w:default w:val="1"/></w:checkBox>', "FORMCHECKBOX"), "[x] Siren"),
        (form('<w:checkBox><w:checked w:val="0"/></w:checkBox>', "FORMCHECKBOX"), "[ ] Siren"),
    ],
)
def test_check_boxes_have_their_state(box: str, shown: str) -> None:
    assert read(f"<w:p>{box}{text(' Siren')}</w:p>").text == shown
    assert read(f"<w:p>{box}{text('Siren')}</w:p>").text == shown


RAISING = '<w:style w:type="character" w:styleId="Raised"><w:rPr><w:vertAlign w:val="superscript"/></w:rPr></w:style>'
RAISED, LOWERED = ('<w:vertAlign w:val="superscript"/>', '<w:vertAlign w:val="subscript"/>')


# Reported cases A11, A15.
@pytest.mark.parametrize(
    ("content", "shown"),
    [
        (text("10") + text("6", RAISED) + text(" litres"), "10^6 litres"),
        (text("10") + text("-3", RAISED) + text(" m") + text("2", RAISED), "10^-3 m²"),
        (text("m", "<w:b/>") + text("3", RAISED), "m³"),
        (text("500") + text("1)", RAISED) + text(" net"), "500^1) net"),
        (text("10") + text("6", '<w:rStyle w:val="Raised"/>') + text(" litres"), "10^6 litres"),
        (text("10") + text("6", '<w:position w:val="8"/><w:sz w:val="14"/>') + text(" litres"), "10^6 litres"),
        (text("10") + text("1", RAISED) + text("2", RAISED) + text(" litres"), "10^12 litres"),
        (text("lowered ") + text("6", '<w:position w:val="-4"/>') + text("7", '<w:position w:val="x"/>'), "lowered 67"),
        (text("H") + text("2", LOWERED) + text("O"), "H2O"),
        # A11, marks inside a word
        (text("K", "<w:b/>") + text("essing by ") + text("Hydro", "<w:b/>") + text("tec."), "Kessing by Hydrotec."),
        (text("un") + text("believ", "<w:i/>") + text("able"), "unbelievable"),
        (f'<w:hyperlink w:anchor="a">{text("Hydro", "<w:b/>")}</w:hyperlink>' + text("tec"), "Hydrotec"),
        (text("A ") + text("bold", "<w:b/>") + text(" word"), "A **bold** word"),
        (text("the 4") + text("th", RAISED) + text(" weir"), "the 4th weir"),
        (text("e") + run("<w:noBreakHyphen/>") + text("mail"), "e-mail"),
        (text("Ostrel") + run("<w:softHyphen/>") + text("Basin"), "OstrelBasin"),
        (text("Ostrel\u00adBa\u200bsin"), "OstrelBasin"),
        (run('<w:sym w:font="Wingdings" w:char="F0E0"/>') + text(" Weir"), "🡪 Weir"),
        (run('<w:sym w:font="Cambria Math" w:char="2264"/>') + text(" 5 m"), "≤ 5 m"),
        (text("\uf061-rays", '<w:rFonts w:ascii="Symbol"/>'), "α-rays"),
        (run('<w:sym w:font="Nothing" w:char="F0E0"/>') + text("Weir"), "Weir"),
        (run('<w:sym w:font="Symbol" w:char="none"/>') + text("Weir"), "Weir"),
        (text("one") + run("<w:cr/>") + text("two"), "one  \ntwo"),
        (text("one") + run('<w:br w:type="page"/>') + text("two"), "one  \ntwo"),
        (text("one") + run('<w:br w:type="page"/>'), "one"),
        (text("one") + run("<w:ptab/>") + text("two"), "one two"),
    ],
)
def test_marks_inside_a_line(content: str, shown: str) -> None:
    assert read(f"<w:p>{content}</w:p>", parts={"styles.xml": RAISING}).text == shown


@pytest.mark.parametrize(
    "content",
    [
        "<w:ruby><w:rt>{0}</w:rt><w:rubyBase>{1}</w:rubyBase></w:ruby>",
        "<w:ruby><w:rubyPr/><w:rt>{0}</w:rt><w:rubyBase>{1}</w:rubyBase></w:ruby>",
        "<w:ruby><w:rubyBase>{1}</w:rubyBase></w:ruby>",
    ],
)
def test_ruby_is_its_base(content: str) -> None:
    body = f"<w:p>{run(content.format(text('とうきょう'), text('東京')))}{text('に行く')}</w:p>"
    assert read(body).text == "東京に行く"


HIDING = (
    '<w:style w:type="character" w:styleId="C"><w:rPr><w:vanish/></w:rPr></w:style>'
    '<w:style w:type="paragraph" w:styleId="P"><w:rPr><w:vanish/></w:rPr></w:style>'
    '<w:style w:type="paragraph" w:styleId="Q"><w:basedOn w:val="P"/></w:style>'
)


@pytest.mark.parametrize(
    ("hidden", "note"),
    [
        (paragraph("secret plan", run="<w:vanish/>"), "hidden text is left out: 2 words"),
        (paragraph("secret", run='<w:rStyle w:val="C"/>'), "hidden text is left out: 1 words"),
        (paragraph("secret", '<w:pStyle w:val="Q"/>'), "hidden text is left out: 1 words"),
        (
            "<w:tbl><w:tr><w:trPr><w:hidden/></w:trPr><w:tc><w:p><w:r><w:t>secret</w:t></w:r></w:p></w:tc></w:tr></w:tbl>",
        )
        * 1
        + ("hidden text is left out: 1 words",),
        (paragraph("", run='<w:vanish w:val="0"/>'), None),
        (
            '<w:p><w:r><w:drawing><wp:inline><wp:docPr id="1" name="Box" hidden="1"/><a:graphic><a:graphicData>'
            "<wps:wsp><wps:txbx><w:txbxContent><w:p><w:r><w:t>secret plan</w:t></w:r></w:p></w:txbxContent></wps:txbx>"
            "</wps:wsp></a:graphicData></a:graphic></wp:inline></w:drawing></w:r></w:p>",
            "hidden text is left out: 2 words",
        ),
    ],
)
def test_hidden_text_is_left_out_and_counted(hidden: str, note: str | None) -> None:
    found = read(hidden + paragraph("Shown.", run='<w:vanish w:val="0"/>'), parts={"styles.xml": HIDING})
    assert (found.text, found.note) == ("Shown.", note)


@pytest.mark.parametrize(
    "broken",
    [
        f'<w:hyperlink r:id="rId99">{text("Weir")}</w:hyperlink>',
        text("Weir") + run('<w:footnoteReference w:id="7"/>'),
        text("Weir") + run('<w:pict><v:shape><v:imagedata r:id="rId99"/></v:shape></w:pict>'),
        text("Weir")
        + run(
            '<w:drawing><wp:inline><a:graphic><a:graphicData><pic:pic><pic:blipFill><a:blip r:embed="rId99"/>'
            "</pic:blipFill></pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing>"
        ),
    ],
)
def test_a_broken_reference_costs_only_itself(broken: str) -> None:
    assert read(f"<w:p>{broken}</w:p>").text == "Weir"


@pytest.mark.parametrize(
    ("instruction", "link"),
    [
        ('HYPERLINK "https://a.example/b" \\t "_blank"', "[Weir](https://a.example/b)"),
        ('HYPERLINK "https://a.example/b" \\l "c" \\o "d"', "[Weir](https://a.example/b)"),
        ('HYPERLINK "https://a.example/b"', "[Weir](https://a.example/b)"),
        ('HYPERLINK \\l "_Toc1" \\h', "Weir"),
    ],
)
def test_links_of_fields_lead_where_they_say(instruction: str, link: str) -> None:
    assert read(f"<w:p>{form('', instruction.replace('&', '&amp;'), text('Weir'))}</w:p>").text == link


def test_notes_are_a_list_below() -> None:
    reference = run('<w:footnoteReference w:id="2"/>')
    body = f"<w:p>{text('Weir')}{reference}{run('<w:commentReference/>')}</w:p>"
    notes = f'<w:footnote w:id="2">{paragraph("Built in 1920.")}</w:footnote>'
    assert read(body, parts={"footnotes.xml": notes}).text == "Weir[1]\n\n1. Built in 1920."


def test_the_document_may_have_any_name() -> None:
    data = word(paragraph("Weir"), main="word/document22.xml")
    assert extract_text(data, "a.docx").text == "Weir"
    assert extract_text(word(paragraph("Weir"), main="doc/main.xml"), "a.docx").text == "Weir"


def test_characters_that_mark_places_are_no_text() -> None:
    assert extract_text(word(paragraph("Tick\ufdd0et\ufdd25\ufdd3")), "a.docx").text == "Ticket5"
