import pytest

from tests.readers.office.word.documents import paragraph, read

STYLES = """
<w:style w:type="paragraph" w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>
<w:style w:type="paragraph" w:styleId="K"><w:name w:val="Klausel"/><w:basedOn w:val="berschrift1"/></w:style>
<w:style w:type="paragraph" w:styleId="KK"><w:name w:val="Unterklausel"/><w:basedOn w:val="K"/>
<w:pPr><w:outlineLvl w:val="2"/></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="T"><w:name w:val="TOC Heading"/><w:basedOn w:val="berschrift1"/>
<w:pPr><w:outlineLvl w:val="9"/></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="Loop"><w:name w:val="Loop"/><w:basedOn w:val="Loop"/></w:style>
"""


# Reported case A9.
@pytest.mark.parametrize(
    ("properties", "text"),
    [
        ('<w:pStyle w:val="berschrift1"/>', "# Weirs"),
        ('<w:pStyle w:val="K"/>', "# Weirs"),
        ('<w:pStyle w:val="KK"/>', "### Weirs"),
        ('<w:outlineLvl w:val="1"/>', "## Weirs"),
        ('<w:outlineLvl w:val="8"/>', "###### Weirs"),
        ('<w:pStyle w:val="T"/>', "Weirs"),
        ('<w:pStyle w:val="Loop"/>', "Weirs"),
        ('<w:pStyle w:val="unknown"/>', "Weirs"),
    ],
)
def test_headings_are_those_of_the_outline(properties: str, text: str) -> None:
    assert read(paragraph(" ", properties), parts={"styles.xml": STYLES}).text == ""
    assert read(paragraph("Weirs", properties), parts={"styles.xml": STYLES}).text == text


def test_entries_of_a_table_of_contents_are_left_out() -> None:
    toc = '<w:style w:type="paragraph" w:styleId="Verzeichnis1"><w:name w:val="toc 1"/></w:style>'
    begin, middle, end = (f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in ("begin", "separate", "end"))
    field = f'{begin}<w:r><w:instrText> TOC \\o "1-3" </w:instrText></w:r>{middle}'
    entry = paragraph("1.</w:t><w:tab/><w:t>Liability</w:t><w:tab/><w:t>3", '<w:pStyle w:val="Verzeichnis1"/>')
    talk = entry.replace("Liability", "Talk by Bert")
    body = f"{paragraph('Contents')}{entry.replace('</w:pPr>', f'</w:pPr>{field}')}{entry}{talk}<w:p>{end}</w:p>"
    heading = paragraph("Liability", '<w:outlineLvl w:val="0"/>')
    text = read(f"{body}{heading}{paragraph('We pay.')}", parts={"styles.xml": toc}).text
    assert text == "Contents\n\n1\\. Talk by Bert 3\n\n# Liability\n\nWe pay."


@pytest.mark.parametrize("name", ["Source Code", "HTML Preformatted"])
def test_code_keeps_its_lines(name: str) -> None:
    styles = f'<w:style w:type="paragraph" w:styleId="C"><w:name w:val="{name}"/></w:style>'
    body = [paragraph(line, '<w:pStyle w:val="C"/>') for line in ("if dry:", "    close()</w:t><w:br/><w:t># done")]
    assert read("".join(body), parts={"styles.xml": styles}).text == "```\nif dry:\n    close()\n# done\n```"
    body = [paragraph(line, '<w:pStyle w:val="C"/>') for line in ("Write", "```", "x", "```")]
    assert read("".join(body), parts={"styles.xml": styles}).text == "````\nWrite\n```\nx\n```\n````"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (paragraph("Hydro", "<w:rPr><w:del/></w:rPr>") + paragraph("tec"), "Hydrotec"),
        (paragraph("K", '<w:framePr w:dropCap="drop"/>') + paragraph("essing Weir"), "Kessing Weir"),
        (paragraph("Last", "<w:rPr><w:del/></w:rPr>"), "Last"),
        (
            "<w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del></w:p><w:p><w:moveFrom><w:r><w:t>moved</w:t></w:r>"
            "</w:moveFrom></w:p><w:p><w:ins><w:r><w:t>new</w:t></w:r></w:ins></w:p><w:p><w:moveTo><w:r><w:t>moved</w:t>"
            "</w:r></w:moveTo></w:p>",
            "new\n\nmoved",
        ),
    ],
)
def test_paragraphs_are_those_that_are_shown(body: str, text: str) -> None:
    assert read(body).text == text


# Reported case A14.
@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("# no heading", "\\# no heading"),
        ("1. typed", "1\\. typed"),
        ("12) typed", "12\\) typed"),
        ("- typed", "\\- typed"),
        ("+ 5 mm", "\\+ 5 mm"),
        ("#1 gauge", "#1 gauge"),
        ("3.5 m", "3.5 m"),
        ("-5 mm", "-5 mm"),
        ("a # b", "a # b"),
        ("```", "\\```"),
        ("~~~ see", "\\~~~ see"),
    ],
)
def test_text_that_looks_like_markdown_is_escaped_at_the_beginning_of_a_line(text: str, escaped: str) -> None:
    assert read(paragraph(text)).text == escaped
    body = f"<w:p><w:r><w:t>Line</w:t><w:br/><w:t>{text}</w:t></w:r></w:p>"
    assert read(body).text.split("\n") == ["Line  ", escaped]
