"""Books by hand; `test_samples.py` reads those of other programs."""

import io
import zipfile

import pytest

from lightrag_dagster.readers.extraction import ExtractedText, extract_text
from lightrag_dagster.readers.words_book import epub

_HEAD = (
    '<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" '
    '"http://www.w3.org/TR/xhtml11/DTD/xhtml11.dtd"><html xmlns="http://www.w3.org/1999/xhtml" '
    'xmlns:epub="http://www.idpf.org/2007/ops"><head><title>T</title></head><body>'
)


def book(*chapters: str | bytes, guide: str = "") -> bytes:
    names = [f"c{number}.xhtml" for number in range(len(chapters))]
    items = "".join(f"<item id='{name}' href='{name}'/>" for name in names)
    spine = "".join(f"<itemref idref='{name}'/>" for name in names)
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr(
            "META-INF/container.xml", "<container><rootfiles><rootfile full-path='a.opf'/></rootfiles></container>"
        )
        archive.writestr("a.opf", f"<package><manifest>{items}</manifest><spine>{spine}</spine>{guide}</package>")
        for name, chapter in zip(names, chapters, strict=True):
            archive.writestr(name, chapter)
    return target.getvalue()


def read(*chapters: str | bytes) -> ExtractedText:
    found = extract_text(book(*chapters), "a.epub")
    assert found.losses is not None
    assert found.losses.lost == 0, found.losses
    return found


def page(body: str) -> str:
    return f"{_HEAD}{body}</body></html>"


# Reported case H1.
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<p>Caf&eacute;&nbsp;&mdash; x</p>", "Café — x"),
        ("<p>Zo&euml; &Uuml;ber &rarr; &alpha; &hellip;</p>", "Zoë Über → α …"),
        ("<p>&amp; &lt;x&gt; &#233; &#x4e2d; &#150;</p>", "& <x> é 中 –"),
        ("<p>soft&shy;hyphen</p>", "softhyphen"),
        ("<p>Write &amp;lt;br&gt; or &amp;amp;amp;</p>", "Write &lt;br> or &amp;amp;"),
    ],
)
def test_named_and_numbered_characters(body: str, expected: str) -> None:
    assert read(page(body)).text == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<p>Research & Development, AT&T</p>", "Research & Development, AT&T"),
        ("<p>a&b; c</p><p>&unknown; text</p>", "a&b; c\n\n&unknown; text"),
        ("<p>a < b and b > c</p><p>next</p>", "a < b and b > c\n\nnext"),
        ("<p>see http://x.org/?a=1&b=2</p>", "see http://x.org/?a=1&b=2"),
        ("<p><![CDATA[a & b]]></p>", "a & b"),
    ],
)
def test_bare_marks_cost_no_letter(body: str, expected: str) -> None:
    assert read(page(body)).text == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<p class=x>unquoted</p><p>after</p>", "unquoted\n\nafter"),
        ("<p>one<br>two<p>three", "one  \ntwo\n\nthree"),
        (
            "<p>bad <br></p><script src='a'/><p>after a script</p><a id='x'/><p>end</p>",
            "bad  \n\nafter a script\n\nend",
        ),
        ("<p>a\x0cb</p>", "a b"),
        ("<p>x<o:p></o:p>y</p>", "xy"),
    ],
)
def test_chapters_that_are_no_xml(body: str, expected: str) -> None:
    assert " ".join(read(page(body)).text.split()) == " ".join(expected.split())


def test_struck_text_is_marked() -> None:
    shown = "<p>Pay <span style='text-decoration: line-through'>500</span> 400 <s>300</s> <strike>2</strike></p>"
    assert read(page(shown)).text == "Pay ~~500~~ 400 ~~300~~ ~~2~~"


def test_doubts_in_the_encoding_of_chapters_are_noted() -> None:
    chapter = page("<p>Caf\N{LATIN SMALL LETTER E WITH ACUTE} one</p>").encode("latin-1")  # it declares UTF-8
    broken = page("<p>Caf\N{LATIN SMALL LETTER E WITH ACUTE} \N{BULLET}</p>").encode() + b"\x81\xff" * 40
    found = extract_text(book(chapter, broken, *[chapter] * 3), "a.epub")
    assert (found.note or "").startswith("c0.xhtml: ")
    assert (found.note or "").count("its encoding cannot be told, bytes stand as \N{REPLACEMENT CHARACTER}") == 1
    assert (found.note or "").endswith("; 2 more doubts")


@pytest.mark.parametrize("encoding", ["iso-8859-1", "utf-16", "utf-8"])
def test_encodings(encoding: str) -> None:
    assert read(page("<p>Café &eacute; & x</p>").replace("utf-8", encoding).encode(encoding)).text == "Café é & x"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<p>10<sup>6</sup> l, 5 m<sup>2</sup>, H<sub>2</sub>O</p>", "10^6 l, 5 m², H2O"),
        ("<p><b>Hydro</b>tec</p>", "Hydrotec"),
        ("<p><ruby>東京<rp>(</rp><rt>とうきょう</rt><rp>)</rp></ruby>に</p>", "東京に"),
        (
            '<p>weir<a epub:type="noteref" href="#n">1</a> and<a role="doc-noteref" href="#m">[2]</a></p>',
            "weir[1] and[2]",
        ),
        (
            '<p>weir<a href="#fn1">1</a> <b>b</b>.<a href="c.xhtml#fn2">2</a> p. <a href="#p45">45</a></p>',
            "weir[1] **b**.[2] p. 45",
        ),
        ('<p><i>weir</i><a href="#n1">1</a>, <i>the</i> weir<a href="#n2">2</a></p>', "*weir*[1], *the* weir[2]"),
        ('<div><p>Weir</p><a href="#p4">4</a></div>', "Weir\n\n4"),
        ('<p><!-- a note -->weir<?page 4?><a href="#n1">1</a></p>', "weir[1]"),
        (
            '<p>John 3:<a href="#v16">16</a>, §<a href="#s">12</a>, 3.<a href="#f">2</a>, 12–<a href="#p">14</a>, '
            '$<a href="#x">100</a>, 1<a href="#k">000</a>, “a.”<a href="#n">4</a></p>',
            "John 3:16, §12, 3.2, 12–14, $100, 1000, “a.”[4]",
        ),
        ("<p>All 1<b>20</b> of <strong>10</strong>0, 2**10 and 3**2</p>", "All 120 of 100, 2**10 and 3**2"),
        ('<p>A</p><p hidden="hidden">B</p><p hidden="until-found">C</p>', "A\n\nC"),
        ('<p><img src="a.png" alt="A weir"/></p><p><img src="b.png" alt="b.png"/>x</p>', "A weir\n\nx"),
        (
            "<table><tr><td rowspan='2'>a</td><td>b</td></tr><tr><td>c</td></tr></table>",
            "| a | b |\n| --- | --- |\n| a | c |",
        ),
    ],
)
def test_marks_and_tables(body: str, expected: str) -> None:
    assert read(page(body)).text.strip() == expected


def test_the_words_of_a_book_are_found_apart_from_its_reader() -> None:
    words = " ".join(
        epub(book(page("<style>p&q</style><p>Caf&eacute; <b>Hydro</b>tec 10<sup>6</sup></p>"), "<p>Ü</p>"))
    )
    assert words.split() == ["Café", "Hydrotec", "10", "6", "Ü"]


@pytest.mark.parametrize(
    ("place", "first", "expected"),
    [
        ("c0.xhtml", "<p><a href='c1.xhtml'>A</a></p>", "B"),
        ("c0.xhtml#toc", "<p><a href='c1.xhtml'>A</a></p>", "A\n\nB"),
        ("c0.xhtml", "<p>The weir is old.</p><p><a href='c1.xhtml'>A</a></p>", "The weir is old.\n\nA\n\nB"),
    ],
)
def test_the_table_of_contents_of_a_second_edition_is_left_out(place: str, first: str, expected: str) -> None:
    guide = f"<guide><reference type='toc' href='{place}'/></guide>"
    found = extract_text(book(page(first), page("<p>B</p>"), guide=guide), "a.epub")
    assert (found.text, found.losses and found.losses.lost) == (expected, 0)


def test_code_keeps_its_indentation() -> None:
    code = "<pre><span>if x:</span>\n<span><a></a>    <b>y</b></span></pre>"
    assert read(page(code)).text == "```\nif x:\n    y\n```"
