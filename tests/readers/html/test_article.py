"""What is the article of a page: kinds D1 to D9 of the reported pages."""

import re

import pytest

from lightrag_dagster.readers.extraction import extract_text
from lightrag_dagster.readers.html.page import read

WEIR = "The weir of Halden was built in the year 1911 by the Authority."
KEEPER = "It is read by a keeper, who lives beside the river all year."
GATE = "Its gate is opened in March, when the snow of the hills has gone."
LINKS = "<li><a href='https://a.example/py'>Python</a></li><li><a href='/net'>.NET</a></li>"


def text_of(body: str) -> str:
    text = read(f"<html><body>{body}</body></html>".encode()).text
    assert isinstance(text, str)
    return "\n".join(line.rstrip() for line in text.split("\n"))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            f"<table><tr><td><h2>News</h2>{WEIR}</td></tr></table>Loose text.<p>{KEEPER}</p>",
            f"## News\n\n{WEIR}\n\nLoose text.\n\n{KEEPER}",
            id="D1",
        ),
        pytest.param(
            f"<table><tr><td>{WEIR}</td><td><h3>Side</h3></td></tr></table>Regards, Hydrotec",
            f"{WEIR}\n\n### Side\n\nRegards, Hydrotec",
            id="D1 and nothing behind it",
        ),
        pytest.param(
            f"<div><table role=presentation><tr><td>{WEIR}</td></tr></table>A <b>bold</b> one<br>{KEEPER}</div>",
            f"{WEIR}\n\nA **bold** one\n\n{KEEPER}",
            id="D1 in a block",
        ),
        pytest.param(
            "<table><tr><td><table><tr><td><h2>In</h2>Deep.</td></tr></table>Between.</td></tr></table>Behind.",
            "## In\n\nDeep.\n\nBetween.\n\nBehind.",
            id="D1 in another",
        ),
        pytest.param(
            f"<p>{WEIR}</p><ul>{LINKS}</ul><p>{KEEPER}</p>", f"{WEIR}\n\n- Python\n- .NET\n\n{KEEPER}", id="D2"
        ),
        pytest.param(
            f"<h1>Links</h1><p>{WEIR}</p><p>The SDKs:</p><ol>{LINKS}</ol><h2>Then</h2><p>{KEEPER}</p>",
            f"# Links\n\n{WEIR}\n\nThe SDKs:\n\n1. Python\n2. .NET\n\n## Then\n\n{KEEPER}",
            id="D2 numbered",
        ),
        pytest.param(
            f"<article><p>{WEIR}</p><div><ul>{LINKS}</ul></div><p>{KEEPER}</p></article>",
            f"{WEIR}\n\n- Python\n- .NET\n\n{KEEPER}",
            id="D2 in a block",
        ),
        pytest.param(
            f"<p>{WEIR}</p><p>{GATE}</p><p><a href='/report'>The report on the state of the weirs of Halden in 2024</a>"
            f"</p><p>{KEEPER}</p>",
            f"{WEIR}\n\n{GATE}\n\nThe report on the state of the weirs of Halden in 2024\n\n{KEEPER}",
            id="D2 a long link as a paragraph",
        ),
        pytest.param(
            f"<p>{WEIR}</p><p><a href='/report'>The report</a></p><p>{KEEPER}</p>",
            f"{WEIR}\n\nThe report\n\n{KEEPER}",
            id="D2 a short link as a paragraph",
        ),
        pytest.param(
            f"<p>{WEIR}</p><figure><table><tr><td>Service</td><td>Price</td></tr><tr><td>Gauge</td><td>12</td></tr>"
            f"</table><figcaption>Prices 2024</figcaption></figure>",
            f"{WEIR}\n\nPrices 2024\n\n| Service | Price |\n|---|---|\n| Gauge | 12 |",
            id="D3",
        ),
        pytest.param(
            f"<article><p>{WEIR}</p><figure><img src=a.png><figcaption>Halden in <i>spring</i></figcaption></figure>"
            f"<p>{KEEPER}</p></article>",
            f"{WEIR}\n\nHalden in *spring*\n\n{KEEPER}",
            id="D3 of a picture",
        ),
        pytest.param(
            f"<p>{WEIR}</p><p>{KEEPER}</p><p>{GATE}</p><figure><picture><img src=a.png></picture>"
            "<figcaption><p>Figure 2: levels</p></figcaption></figure>",
            f"{WEIR}\n\n{KEEPER}\n\n{GATE}\n\nFigure 2: levels",
            id="D3 at the end",
        ),
        pytest.param(
            f"<p>{WEIR}</p><figure><pre>x = 1\ny = 2</pre><figcaption>Listing 3</figcaption></figure>",
            f"{WEIR}\n\nListing 3\n\n```\nx = 1\ny = 2\n```",
            id="D3 of code",
        ),
        pytest.param(
            f"<article><h1>Costs</h1><div class='share-of-costs'><p>{WEIR}</p></div><div id='related-works'><p>{KEEPER}"
            f"</p></div><section class='sponsor'><p>{GATE}</p></section></article>",
            f"# Costs\n\n{WEIR}\n\n{KEEPER}\n\n{GATE}",
            id="D7",
        ),
        pytest.param(
            f"<main><h1>Costs</h1><p>{WEIR}</p><div class='promo'><p>{KEEPER}</p></div><aside>{GATE}</aside></main>",
            f"# Costs\n\n{WEIR}\n\n{KEEPER}\n\n{GATE}",
            id="D7 in main",
        ),
        pytest.param(
            f"<article><p>{WEIR}</p><section id='comments'><h2>Comments</h2><p>{KEEPER}</p></section></article>",
            f"{WEIR}\n\n## Comments\n\n{KEEPER}",
            id="D7 a chapter",
        ),
        pytest.param(
            f"<p>{WEIR}</p><p>The rules of the weirs: <a href='https://weirs.org/rules-of-halden'>"
            f"https://weirs.org/rules-of-halden</a></p><p>{KEEPER}</p><p>{GATE}</p><p>Tickets for the tour: "
            "<a href='https://weirs.org/tour'>www.weirs.org/tour-of-all-weirs</a></p>",
            f"{WEIR}\n\nThe rules of the weirs: https://weirs.org/rules-of-halden\n\n{KEEPER}\n\n{GATE}\n\n"
            "Tickets for the tour: www.weirs.org/tour-of-all-weirs",
            id="an address that is shown",
        ),
        pytest.param(
            f"<p>{WEIR}</p><div><li>Name: <b>Hamm</b></li><li>Level: <b>70</b></li></div><p>{KEEPER}</p>",
            f"{WEIR}\n\nName: **Hamm**\n\nLevel: **70**\n\n{KEEPER}",
            id="items outside of a list",
        ),
    ],
)
def test_what_is_in_the_text_is_kept(body: str, expected: str) -> None:
    assert text_of(body) == expected


ARTICLE = f"<p>{WEIR}</p><p>{KEEPER}</p><p>{GATE}</p>"
TEXT = f"{WEIR}\n\n{KEEPER}\n\n{GATE}"
LONG = "".join(
    f"<p>Gauge {number} stands at the weir of {number} metres, and is read daily.</p>" for number in range(9)
)
DIALOG = "<p>We use cookies, and our 12 partners do so too, to show what you like.</p>" * 2
DATA = '{"@type": "NewsArticle", "articleBody": "%s"}'


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(f"<div class='modal cookie-consent'>{DIALOG}</div><div>{LONG}</div>", id="D8 a dialog"),
        pytest.param(f"<article><p>Please wait for the page.</p></article><div>{LONG}</div>", id="D8 a short article"),
        pytest.param(
            f"<main><p>Steps:</p></main><div><ol>{LONG.replace('p>', 'li>')}</ol></div>", id="D8 an article in a list"
        ),
    ],
)
def test_the_part_with_most_of_the_prose_is_the_article(body: str) -> None:
    text = text_of(body)
    assert all(f"Gauge {number} stands at" in text for number in range(9))


def test_an_article_in_data_for_scripts_is_read() -> None:
    script = f"<script type='application/ld+json'>{DATA % f'{WEIR} {KEEPER} {GATE}'}</script>"
    assert text_of(f"{script}<p>Please switch on JavaScript.</p>") == f"{WEIR} {KEEPER} {GATE}"
    assert text_of(f"{script}{ARTICLE * 2}").startswith(TEXT)


@pytest.mark.parametrize("around", ["<header>%s</header><article>", "<div class=intro>%s</div><article>"])
def test_sentences_between_the_heading_and_the_article_are_its_lead(around: str) -> None:
    lead = "The Authority has opened the gate of its oldest weir for the first time."
    page = f"{around % f'<h1>Halden</h1><p>{lead}</p>'}{ARTICLE * 2}</article>"
    assert text_of(page).startswith(f"{lead}\n\n{WEIR}")


@pytest.mark.parametrize(
    ("before", "within", "behind"),
    [
        ("", "<p>See also: <a href='/a'>The weirs of Oslo are to be sold, says a report</a></p>", ""),
        ("", "", "<h3>More of this</h3><p><a href='/a'>The weirs of Oslo are to be sold</a></p>"),
        ("<figure><img src=a.png><figcaption>Photograph: A. Wren</figcaption></figure>", "", "<div>Share:</div>"),
    ],
)
def test_what_leads_on_to_other_pages_is_left_out_of_an_article(before: str, within: str, behind: str) -> None:
    page = f"<article>{before}<p>{WEIR}</p>{within}<p>{KEEPER}</p><p>{GATE}</p>{behind}</article>"
    assert re.sub("\n{2,}", "\n\n", text_of(page)).strip() == TEXT
    losses = extract_text(page.encode(), "a.html").losses
    assert losses is not None
    assert losses.lost == (11 if behind.startswith("<h3>") else 0)  # a closing heading and its links may be content


def test_a_short_text_is_kept_to_its_end() -> None:
    assert text_of(f"<p>{WEIR}</p><h2>Contact</h2><p>Ida: <a href='/ida'>mail</a></p><p>By car:</p>").endswith("car:")


@pytest.mark.parametrize(
    "before", ["<style>p {}</style>", "<title>T</title><script>x</script>", "<head><meta name=a></head>"]
)
def test_an_article_directly_behind_a_head_is_read(before: str) -> None:
    text = read(f"{before}<article><p>{WEIR}</p></article><section><p>{KEEPER}</p></section>".encode()).text
    assert text == f"{WEIR}\n\n{KEEPER}"


def test_a_short_last_line_of_a_text_stays() -> None:
    sentence = "The keeper of the weir reads the gauge every morning before the boats go out.<br>"
    text = extract_text(f"<html><body>{sentence * 5}The weir ends here</body></html>".encode(), "a.html").text
    assert text.endswith("The weir ends here")


@pytest.mark.parametrize(
    ("lead", "said"),
    [
        ("Its pond has 800 m<sup>2</sup> and 10<sup>3</sup> fish.", "Its pond has 800 m² and 10^3 fish."),
        ("Turn the <img src=a.png alt='green wheel'> and see fish.", "Turn the green wheel and see fish."),
        ("Here <svg><text>an icon</text></svg> are all the fish.", "Here are all the fish."),
    ],
)
def test_a_first_paragraph_with_other_words_than_its_text_is_read_once(lead: str, said: str) -> None:
    text = text_of(f"<header><h1>Halden</h1></header><h1>Weir</h1><p>{lead} {KEEPER}</p><p>{WEIR}</p>")
    assert text == f"# Halden\n\n# Weir\n\n{said} {KEEPER}\n\n{WEIR}"


@pytest.mark.parametrize(
    ("page", "note"),
    [
        (
            "<div role=main>%s<aside class=footnote-list><aside class=footnote role=doc-footnote><span class=label>[<a "
            "href='#r'>1</a>]</span><p>Page 4.</p></aside></aside></div>",
            "[1]\n\nPage 4.",
        ),
        (
            "%s<div class=footnote><hr><h4>Notes</h4><h5><a id=FOOT1 href='#DOC1'>(1)</a></h5><p>Page 4.</p></div>",
            "#### Notes\n\n##### (1)\n\nPage 4.",
        ),
        (
            "%s<div><h2>Works</h2><div><ul><li><p><a id=uhl></a>[uhl] Uhl, 1999.</p></li></ul></div></div>",
            "## Works\n\n- [uhl] Uhl, 1999.",
        ),
        (
            "<meta name=generator content='Asciidoctor 2'><div id=content>%s"
            "<div class=sidebarblock><p>The gate of the weir is red.</p></div>"
            "<div id=footnotes><div class=footnote><a href='#r'>1</a>. Page 4.</div></div></div>",
            "The gate of the weir is red.\n\n1\\. Page 4.",
        ),
    ],
)
def test_notes_and_boxes_of_documents_are_read(page: str, note: str) -> None:
    assert text_of(page % f"<h1>Weirs</h1>{ARTICLE}") == f"# Weirs\n\n{TEXT}\n\n{note}"


def test_a_link_from_a_note_back_to_its_place_is_left_out() -> None:
    notes = "<section><hr><ol><li id=fn1><p>A note on the pond.<a href='#fnref1'>↩︎</a></p></li></ol></section>"
    assert text_of(f"<p>{WEIR}</p><p>{KEEPER}</p>{notes}").endswith("1. A note on the pond.")
