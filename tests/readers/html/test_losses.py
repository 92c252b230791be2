"""Lost words of pages: what is left out on purpose is not lost, and an article that is not read is."""

import pytest

from lightrag_dagster.readers.extraction import extract_text
from lightrag_dagster.readers.html import article
from lightrag_dagster.readers.html.words import all_text
from lightrag_dagster.readers.losses import LostWords

WEIR = "The weir of Halden was built in the year 1911 by the Authority."
KEEPER = "It is read by a keeper, who lives beside the river all year."
GATE = "Its gate is opened in March, when the snow of the hills has gone."


@pytest.mark.parametrize(
    "around",
    [
        "<nav><a href='/'>Home page</a> <p>Menus are here, as ever.</p></nav>%s<footer>All rights</footer>",
        "<body><ul><li><a href='/a'>Prices</a></li><li><a href='/b'>Terms</a></li></ul><div>%s</div><div>Imprint</div>",
        "<article>%s</article><div class=comments><p>I was there, and it was closed, said Bob.</p></div>",
        f"<nav><ul><li><a href='#weir'>{WEIR}</a></li></ul></nav><main>%s</main>",
        "<script>var x = 'text';</script><style>p {color: red}</style><article>%s</article><aside>Most read</aside>",
    ],
)
def test_what_is_left_out_of_a_page_is_not_lost(around: str) -> None:
    read = extract_text((around % f"<p>{WEIR}</p><p>{KEEPER}</p><p>{GATE}</p>").encode(), "a.html")
    assert read.text.split("\n\n") == [WEIR, KEEPER, GATE]
    assert read.losses is not None
    assert read.losses[1:] == (0, "")


@pytest.mark.parametrize(
    "body",
    [
        f"<p>{WEIR}</p><p>{KEEPER}</p><p>{GATE}</p>",
        f"<nav><a href='/'>Home</a></nav><div>{WEIR}</div><ul><li>{KEEPER}</li><li>{GATE}</li></ul>",
        f"<p>{WEIR}</p><div><table><tr><td>{KEEPER}</td><td>{GATE}</td></tr></table></div><footer>Imprint</footer>",
    ],
)
def test_an_article_that_is_not_read_is_lost(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(article, "_extract", lambda tree: WEIR)
    losses = extract_text(body.encode(), "a.html").losses
    assert losses is not None
    assert losses[1:] == (len(f"{KEEPER} {GATE}".split()), "it is read by a keeper who lives beside the river all")


def test_a_paragraph_between_others_is_lost_if_it_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(article, "_extract", lambda tree: f"{WEIR}\n\n{GATE}")
    losses = extract_text(f"<p>{WEIR}</p><p>Level 5</p><p>{GATE}</p><p>Imprint</p>".encode(), "a.html").losses
    assert losses is not None
    assert losses[1:] == (2, "level 5")


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<title>T</title><style>x</style><article>Hy<b>dro</b>tec<p>a<br>b", "Hydrotec\na\nb"),
        ("<table><tr><td>a<td>b</table>c<br>d", "a\nb\nc\nd"),
        ("<p>10<sup>6</sup> and x<sup>th</sup></p><math>x</math><ruby>字<rt>じ</rt></ruby>", "10 6 and xth\n字"),
    ],
)
def test_all_text_of_a_page(page: str, expected: str) -> None:
    assert all_text(page) == expected


def test_a_page_without_text_has_no_words() -> None:
    assert extract_text(b"<html></html>", "a.html").losses == LostWords()


SECTION = "<h2>References</h2>%s"


@pytest.mark.parametrize(
    ("below", "lost"),
    [
        ("<ol><li><a href='/x'>Wren, Ida: Weirs and floods</a></li></ol>", 6),
        ("<p><a href='/x.pdf'>Contract with the town</a></p>", 5),
        ("<nav><a href='/x'>Other pages</a></nav>", 1),
        ("<div class=related><a href='/x'>Other pages</a></div>", 1),
    ],
)
def test_a_closing_heading_with_links_in_the_article_is_lost(below: str, lost: int) -> None:
    page = f"<article><p>{WEIR}</p><p>{KEEPER}</p><p>{GATE}</p>{SECTION % below}</article><footer>Imprint</footer>"
    read = extract_text(page.encode(), "a.html")
    assert "References" not in read.text
    assert read.losses is not None
    assert read.losses.lost == lost
