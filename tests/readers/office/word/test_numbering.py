import pytest

from tests.readers.office.word.documents import cell, levels, numbered, paragraph, read, table

HEADINGS = "".join(
    f'<w:style w:type="paragraph" w:styleId="H{level}"><w:name w:val="heading {level}"/>'
    f'<w:pPr><w:numPr><w:ilvl w:val="{level - 1}"/><w:numId w:val="1"/></w:numPr></w:pPr></w:style>'
    for level in (1, 2, 3)
)
LEGAL = levels(("decimal", "%1"), ("decimal", "%1.%2"), ("decimal", "%1.%2.%3"), ("lowerLetter", "(%4)"))


def heading(text: str, level: int) -> str:
    return paragraph(text, f'<w:pStyle w:val="H{level}"/>')


# Reported case A3.
@pytest.mark.parametrize(
    ("body", "text"),
    [
        (
            heading("Scope", 1) + numbered("Supply.", 1) + numbered("Pay.", 1) + heading("Liability", 1),
            "# 1 Scope\n\n1.1 Supply.\n\n1.2 Pay.\n\n# 2 Liability",
        ),
        (
            heading("Scope", 1) + heading("Rivers", 2) + heading("Weirs", 3) + heading("Weirs", 3) + heading("Ice", 2),
            "# 1 Scope\n\n## 1.1 Rivers\n\n### 1.1.1 Weirs\n\n### 1.1.2 Weirs\n\n## 1.2 Ice",
        ),
        (
            heading("Scope", 1) + numbered("Of:", 1) + numbered("gauges", 3) + numbered("seals", 3) + paragraph("End."),
            "# 1 Scope\n\n1.1 Of:\n\n(a) gauges\n(b) seals\n\nEnd.",
        ),
        (heading("Scope", 1) + heading("Ice", 3) + heading("Snow", 2), "# 1 Scope\n\n### 1.1.1 Ice\n\n## 1.2 Snow"),
    ],
)
def test_headings_and_clauses_have_their_numbers(body: str, text: str) -> None:
    assert read(body, parts={"styles.xml": HEADINGS, "numbering.xml": LEGAL}).text == text


@pytest.mark.parametrize(
    ("level", "numbers"),
    [
        (("decimal", "%1.", "<w:start w:val='5'/>"), ("5.", "6.")),
        (("lowerLetter", "%1)"), ("a)", "b)")),
        (("upperLetter", "%1.", "<w:start w:val='26'/>"), ("Z.", "AA.")),
        (("lowerRoman", "(%1)", "<w:start w:val='3'/>"), ("(iii)", "(iv)")),
        (("upperRoman", "Part %1:", "<w:start w:val='8'/>"), ("Part VIII:", "Part IX:")),
        (("decimalZero", "§ %1"), ("§ 01", "§ 02")),
        (("ordinal", "%1", "<w:start w:val='12'/>"), ("12th", "13th")),
        (("chineseCounting", "第%1条", "<w:start w:val='10'/>"), ("第十条", "第十一条")),
        (("unknownFormat", "%1)"), ("1)", "2)")),
        (("bullet", "☐"), ("- [ ]", "- [ ]")),
        (("bullet", "☒"), ("- [x]", "- [x]")),
        (("decimal", "%1.", ""), ("1.", "2.")),
    ],
)
def test_lists_are_numbered_as_they_are_shown(level: tuple[str, str], numbers: tuple[str, str]) -> None:
    body = numbered("Seal") + numbered("Logger")
    text = read(body, parts={"numbering.xml": levels(level)}).text
    assert text == f"{numbers[0]} Seal\n{numbers[1]} Logger"


# Reported case A3.
def test_a_list_goes_on_behind_a_paragraph_and_in_each_list_of_its_definition() -> None:
    lists = levels(("decimal", "%1.")) + '<w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>'
    lists += (
        '<w:num w:numId="3"><w:abstractNumId w:val="1"/>'
        '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride></w:num>'
    )
    body = numbered("one") + paragraph("Then") + numbered("two") + numbered("three", name=2)
    body += paragraph("Anew") + numbered("one", name=3) + numbered("two", name=3)
    assert read(body, parts={"numbering.xml": lists}).text == (
        "1. one\n\nThen\n\n2. two\n3. three\n\nAnew\n\n1. one\n2. two"
    )


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (numbered("a") + numbered("b", 1) + numbered("c", 1) + numbered("d"), "1. a\n   i. b\n   ii. c\n2. d"),
        (numbered("a") + numbered("b", 2) + numbered("c", 2), "1. a\n   - b\n   - c"),
        (numbered("b", 1) + paragraph("x") + numbered("c", 1), "i. b\n\nx\n\nii. c"),
        (numbered("a", name=0) + numbered("b", name=9), "a\n\nb"),
        (numbered("a") + numbered("a goes on", 3) + numbered("b"), "1. a\n\na goes on\n\n2. b"),
    ],
)
def test_items_are_as_deep_as_those_above_them_say(body: str, text: str) -> None:
    lists = levels(("decimal", "%1."), ("lowerRoman", "%2."), ("bullet", "•"), ("bullet", " "))
    assert read(body, parts={"numbering.xml": lists}).text == text


def test_a_cell_shows_its_number_without_a_text() -> None:
    rows = [("No", "Defect"), (numbered(""), "Leak"), (numbered(""), "Rust")]
    body = table(*(cell(number) + cell(said) for number, said in rows))
    lists = levels(("decimal", "%1."))
    assert read(body, parts={"numbering.xml": lists}).text.split("\n")[2:] == ["| 1. | Leak |", "| 2. | Rust |"]


def test_legal_levels_write_all_numbers_in_digits() -> None:
    lists = levels(("upperRoman", "Article %1"), ("decimal", "Section %1.%2", "<w:isLgl/>"))
    body = numbered("Rivers") + numbered("Weirs", 1)
    assert read(body, parts={"numbering.xml": lists}).text == "Article I Rivers\n\nSection 1.1 Weirs"


def test_lists_may_be_behind_a_style_and_an_empty_item_counts() -> None:
    styles = (
        '<w:style w:type="numbering" w:styleId="L"><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>'
    )
    lists = levels(("decimal", "%1.")) + (
        '<w:abstractNum w:abstractNumId="8"><w:numStyleLink w:val="L"/></w:abstractNum>'
        '<w:num w:numId="8"><w:abstractNumId w:val="8"/></w:num>'
    )
    body = numbered("one", name=8) + numbered("", name=8) + numbered("three", name=8)
    assert read(body, parts={"styles.xml": styles, "numbering.xml": lists}).text == "1. one\n3. three"
