import time
from dataclasses import replace
from datetime import date

import pytest

from lightrag_dagster.readers.content import Content, Properties
from lightrag_dagster.readers.extraction import extract_text
from lightrag_dagster.readers.html.page import read

PAGE = """<!DOCTYPE html><html><head><title>My  page &amp; more</title><style>p {color: red}</style></head><body>
<nav><a href="/">Home</a> <a href="/shop">Shop</a></nav>
%s
<footer>All rights reserved, as ever</footer></body></html>"""
TEXT = """<h1>Head one</h1><p>The first paragraph says something of <b>some</b> length about snake_case.</p>
<h2>Sub &lt;two&gt;</h2><p>The second paragraph is about as long as the first one was.</p><ul><li>one</li></ul>
<pre><code># no heading
x = 1</code></pre>"""
MARKDOWN = """# Head one

The first paragraph says something of **some** length about snake_case.

## Sub <two>

The second paragraph is about as long as the first one was.

- one

```
# no heading
x = 1
```"""


def extract_html(data: bytes) -> tuple[str | None, str]:
    content = read(data)
    assert isinstance(content.text, str)
    return content.properties.title, content.text


@pytest.mark.parametrize(
    "body", [TEXT, f"<div>{TEXT}</div>", f"<main>{TEXT}</main>", f"<div><article>{TEXT}</article></div><div>x</div>"]
)
def test_the_main_text_keeps_its_headings_and_lists(body: str) -> None:
    title, text = extract_html((PAGE % body).encode())
    assert title == "My page & more"
    assert text.strip() == MARKDOWN


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<html><body><h1>Note</h1><p>Hi</p></body></html>", ("Note", "# Note\n\nHi")),
        ("<p>Hi there, <b>Bob</b>", (None, "Hi there, **Bob**")),
        ("just text", (None, "just text")),
        ("<title>A &amp;amp; B</title><p>Text", ("A &amp; B", "Text")),
        ("<title>T</title><h1>Only</h1><script>var x</script><!-- c -->tail", ("T", "# Only\n\ntail")),
        (
            "<section><h2>A</h2><p>a</p></section><section><h2>B</h2><p>b</p></section>",
            (None, "## A\n\na\n\n## B\n\nb"),
        ),
        ("<nav>Home</nav><p>Short.</p>", (None, "Short.")),
        # As frameworks write it, with a comment between two texts.
        ("<h2>A <!-- c -->b</h2><ul><li>one<!-- --> two</li></ul>", (None, "## A b\n\n- one two")),
        ("<p>Then</p><table><tr><td>a<!-- -->b</td></tr></table>", (None, "Then\n\nab")),
        (
            "<h2>A<a class='headerlink' href='#a'>¶</a></h2><p>Then</p>"
            "<table><tr><th>a</th><th>b</th></tr><tr><td>c|d</td><td>e</td></tr></table>",
            (None, "## A\n\nThen\n\n| a | b | \n|---|---|\n| c\\|d | e |"),
        ),
        ("<svg><text>only in a drawing</text><style>x</style></svg>", (None, "only in a drawing")),
        ("<html><head><title>T</title></head><body></body></html>", ("T", "")),
        ("<!-- nothing but a comment -->", (None, "")),
        ("", (None, "")),
    ],
)
def test_small_and_odd_pages(page: str, expected: tuple[str | None, str]) -> None:
    assert extract_html(page.encode()) == expected


@pytest.mark.parametrize(
    "page",
    [
        '<meta charset="ISO-8859-1"><p>Café au lait',
        "<meta http-equiv='content-type' content='text/html; charset=latin-1'><p>Café au lait",
        '<?xml version="1.0" encoding="iso-8859-1"?><html><body><p>Café au lait</p></body></html>',
    ],
)
def test_the_declared_encoding_is_honoured(page: str) -> None:
    assert extract_html(page.encode("latin-1"))[1] == "Café au lait"
    assert extract_html(page.encode("utf-8"))[1] == "Café au lait"
    windows = page.replace("Café", "„Café“ – 5 €")  # which browsers read under the name of ISO-8859-1
    assert extract_html(windows.encode("cp1252"))[1] == "„Café“ – 5 € au lait"


def test_undecodable_bytes_say_why() -> None:
    with pytest.raises(ValueError, match="not valid UTF-8"):
        extract_html("<p>水位が下がった".encode("shift_jis"))


@pytest.mark.parametrize("before", ["", "---\ntitle: Pump\n---\n\n"])
@pytest.mark.parametrize(
    ("part", "text"),
    [
        (
            "<p>Related tickets:</p><ul><li><a href=/p>PUMP-12</a></li></ul><p><a href=/m>Manual of the pump</a></p>",
            "Related tickets:\n\n- PUMP-12\n\nManual of the pump",
        ),
        (
            "<div class=tags>urgent</div><div class=comments><p>Bo Lenz: all went to the wrong station.</p></div>",
            "urgent\n\nBo Lenz: all went to the wrong station.",
        ),
    ],
)
def test_a_part_of_a_page_as_of_a_cell_is_read_whole(before: str, part: str, text: str) -> None:
    failed = "The pump of Halden failed on Monday, and no one was there to see it."
    assert read(f"{before}<p>{failed}</p>{part}".encode()).text == f"{failed}\n\n{text}"
    for whole in ("<body>", "<meta charset=utf-8>", "<link rel=icon href=x>", "<style>p {color: red}</style>"):
        assert str(read(f"{before}{whole}<p>{failed}</p>{part}".encode()).text).endswith((failed, ":"))


def test_escapes_in_code_are_the_authors() -> None:
    page = r"<html><body><p>Call <code>re\.sub\_x</code> or my_name * 2 [sic].</p></body></html>"
    assert extract_html(page.encode())[1] == r"Call `re\.sub\_x` or my_name * 2 [sic]."


def test_an_ampersand_begins_no_character() -> None:
    page = (
        "<p>Ask for a?lang=en&amp;region=eu of AT&amp;T here.</p><pre>curl a?b=1&amp;timestamp=2</pre><p>Then end.</p>"
        "<p>Or a?b=1&region=eu&copy=2 &copy; 2024 R&eacute;gie.</p>"
    )
    found = extract_text(f"<main><h1>Use</h1>{page}</main>".encode(), "a.html")
    assert "a?lang=en&region=eu of AT&T" in found.text
    assert "curl a?b=1&timestamp=2" in found.text
    assert "Or a?b=1&region=eu&copy=2 © 2024 Régie." in found.text
    assert found.losses is not None
    assert found.losses.lost == 0


@pytest.mark.parametrize("blank", ["\u2800", "&#x2800;", "&#10240;"])
def test_a_blank_of_braille_parts_words(blank: str) -> None:
    assert extract_html(f"<main><p>The weir{blank}stands.</p></main>".encode())[1] == "The weir stands."


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    extract_html(b"<html></html>")
    extract_html(b"<p></p>")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("character", ["\x0c", "\x00", "\x01", "&#12;", "&#xFFFE;"])
def test_a_character_that_xml_has_not_costs_nothing_else(character: str) -> None:
    _, text = extract_html(f"Page 1{character}<p>The weir was built in 1911.</p>".encode())
    assert "The weir was built in 1911." in text
    page = f"<body><nav>Home</nav><p>The weir{character} was built in <s>1910</s> 1911.</p></body>"
    assert " ".join(extract_html(page.encode())[1].split()) == "The weir was built in ~~1910~~ 1911."


@pytest.mark.parametrize("depth", [250, 300, 2000, 3000, pytest.param(1_000_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("tag", ["div", "blockquote"])
def test_a_deeply_nested_page_keeps_its_text(depth: int, tag: str) -> None:
    start = time.process_time()
    page = (
        f"<title>Weirs</title><p>Shallow.{f'<{tag}>' * depth}<p>It was built in 1911.</p>{f'</{tag}>' * depth}<p>After."
    )
    title, text = extract_html(page.encode())
    assert title == "Weirs"
    assert "It was built in 1911." in text
    assert depth <= 2048 or text.split("\n") == ["Shallow.", "It was built in 1911.", "After."]
    assert time.process_time() - start < 10


def test_what_a_page_says_of_itself() -> None:
    page = """<html lang="de-AT"><head><title>Pegel</title><meta name="Author" content="Ida Wren">
<meta name="keywords" content="gauges, rivers"><meta property="article:tag" content="weirs">
<meta property="article:published_time" content="2025-03-04T05:06:07Z"></head><body><p>Text</p></body></html>"""
    expected = Properties("Pegel", "Ida Wren", date(2025, 3, 4), ("gauges", "rivers", "weirs"), "de")
    assert read(page.encode()).properties == expected
    jekyll = read(b"---\ntitle: Front\npublished: false\n---\n" + page.encode())
    assert jekyll == Content("Text", replace(expected, title="Front", switched_off="published: false"))


@pytest.mark.parametrize("section", ["section id='sharing-menu'", "div class='section' id='sharing-menu'"])
def test_a_chapter_is_no_menu_by_its_name(section: str) -> None:
    chapter = "<h2>Sharing menu</h2><p>The gauge is read by pressing the green key.</p>"
    around = "<div id='menu'><p>Home and contact and imprint</p></div>"
    main = f"<h1>Gauges</h1><p>How they are read.</p><{section}>{chapter}</{section.split()[0]}>"
    _, text = extract_html(f"<body>{around}<main>{main}</main>".encode())
    assert text == "# Gauges\n\nHow they are read.\n\n## Sharing menu\n\nThe gauge is read by pressing the green key."


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"word " * 200_000, marks=pytest.mark.long),
        b"word" * 200_000,
        b"&amp;#x110000;&#55555;&nosuch;" * 9_000,
        b"<pre>a\nb" * 1_900,
        b"<table><tr>" + b"<td><pre>1 2 3 4</pre></td>" * 6_000,
    ],
)
def test_a_long_line_or_row_is_read_in_time(line: bytes) -> None:
    started = time.process_time()
    assert len(read(b"<p>" + line).text) > len(line) // 4
    assert time.process_time() - started < 10


@pytest.mark.parametrize(
    ("said", "day"),
    [
        ("", None),
        (" on Mar 05, 2024", "2024-03-05"),
        (", last modified by <span class='editor'> Bo Lenz</span> on 12 Dec 2024", "2024-12-12"),
        (" on Feb 31, 2024", None),
        (" on 12. März 2024", None),
    ],
)
def test_the_line_of_confluence_says_who_wrote_a_page(said: str, day: str | None) -> None:
    line = f"<div class='page-metadata'>\nCreated by <span class='author'> Ida Wren</span>{said}\n</div>"
    found = read(f"<title>OPS : Runbook</title><div id='main-content'>{line}<p>Restart it.</p></div>".encode())
    assert found.properties.author == "Ida Wren"
    assert str(found.properties.date or "") == (day or "")
