import pytest
from lxml import html as lxml_html

from lightrag_dagster.readers.html.blocks import make_paragraph
from lightrag_dagster.readers.html.page import read


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("<div>a <b>b</b> c</div>", "<p>a <b>b</b> c</p>"),
        ("<div>a<p>b</p>c <i>d</i> e<ul><li>f</li></ul>g</div>",
         "<div><p>a</p><p>b</p><p>c <i>d</i> e</p><ul><li>f</li></ul><p>g</p></div>"),
        ("<div> <p>a</p> | <p>b</p>\n</div>", "<div><p>a</p><p>b</p></div>"),
        ("<div><img src='a'><p>b</p></div>", '<div><p><img src="a"></p><p>b</p></div>'),
        ("<div> &lt; </div>", "<div> &lt; </div>"),
    ],
)  # fmt: skip
def test_loose_text_is_put_into_paragraphs(given: str, expected: str) -> None:
    block = lxml_html.fragment_fromstring(given)
    make_paragraph(block)
    assert lxml_html.tostring(block, encoding="unicode") == expected


def test_a_page_keeps_text_that_is_in_no_paragraph_and_loses_menus() -> None:
    page = """<body>
<div id="header"><div>River office</div><div><a href="/">Home</a> <a href="/a">About us</a></div></div>
<div><h1>Gauges</h1><div>The gauge was cleaned.</div><p>Its housing was cracked, so that rain reached the logger.</p>
It was replaced <b>quickly</b>.</div><div id="sidebar">Most read</div><div class="footer">All rights reserved</div>"""
    assert read(page.encode()).text == (
        "# Gauges\n\nThe gauge was cleaned.\n\nIts housing was cracked, so that rain reached the logger.\n\n"
        "It was replaced **quickly**."
    )


def test_a_block_in_a_heading_ends_nothing() -> None:
    assert read(b"<h1><div>net/</div>udp.rs</h1><p>Sockets.</p>").text == "# net/udp.rs\n\nSockets."


@pytest.mark.parametrize(
    ("heading", "line"),
    [
        ("Weirs of\nthe <i>Ostrel</i>\nbasin", "Weirs of the *Ostrel* basin"),
        ("Annual report<br>2024", "Annual report 2024"),
        ("Use of\n<code>weir\n--all</code>", "Use of `weir --all`"),
    ],
)
def test_a_heading_is_one_line(heading: str, line: str) -> None:
    said = "The gauge was cleaned, since rain had reached the logger."
    page = f"<main><h1>Gauges</h1><p>{said}</p><h2>{heading}</h2><p>{said} It fell.</p></main>"
    assert read(page.encode()).text == f"# Gauges\n\n{said}\n\n## {line}\n\n{said} It fell."


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<pre># Note\n- one<br>\tx = 1</pre>", "```\n# Note\n- one\n\tx = 1\n```\n"),
        (
            "<ol><li>Run it:<pre><code>a\n# b</code></pre></li><li>Wait.</li></ol>",
            "1. Run it:\n```\na\n# b\n```\n2. Wait.\n\n",
        ),
        ("<pre>a:<br>\n <span>b</span>\n \nc</pre>", "```\na:\n\n b\n\nc\n```\n"),
        (
            "<ol><li><p>Run:</p><div><pre>a\n\nb</pre></div></li><li><pre># a\nb</pre></li></ol>",
            "1. Run:\n```\na\n\nb\n```\n2.\n```\n# a\nb\n```\n\n",
        ),
        ("<address>12 Weir Street<br>Halden</address>", "12 Weir Street\n\nHalden\n\n"),
    ],
)
def test_lines_of_code_and_of_addresses_stay_such(body: str, text: str) -> None:
    said = "The gauge was cleaned, since rain had reached the logger."
    page = f"<main><h1>Gauges</h1><p>{said}</p>{body}<p>{said} It fell.</p></main>"
    assert read(page.encode()).text == f"# Gauges\n\n{said}\n\n{text}{said} It fell."
