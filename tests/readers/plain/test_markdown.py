import time

import pytest

from lightrag_dagster.readers.extraction import extract_text
from lightrag_dagster.readers.plain.markdown import read


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("About 10<sup>6</sup> m<sup>2</sup> of H<sub>2</sub>O.", "About 10^6 m² of H2O."),
        ("The 4<SUP>th</SUP> s<sup>-1</sup>, <u>now</u>.", "The 4th s⁻¹, now."),
        ('See<sup class="x">[1](#n1)</sup> x<sub>i</sub>.', "See[1](#n1) xi."),
        (
            "m<sup><b>3</b></sup> <b>Ost</b>rel, <mark class='x'>Kess</mark>ing, Kess<span a='b'>ing</span>",
            "m³ Ostrel, Kessing, Kessing",
        ),
        ("<s>500</s> <del>a b</del><ins>c</ins> <strike> d </strike>.", "~~500~~ ~~a b~~c  ~~d~~ ."),
        *[
            (one, one)
            for one in (
                "$a^2b^2c^2$, HEAD~2~1, H~2~O m^2^ </b>",
                "<b>bold</b>, <mark>marked</mark>",
                "<pre>\nm<sup>2</sup>\n\nm<sup>3</sup></pre>",
                "<code class='x'>m<sup>2</sup></code>",
                "<code>m<sup>2</sup>",
                "<img alt=\"m<sup>2</sup>\" title='<s>x</s>'>",
                "A:\n\n    m<sup>2</sup>\n\n\t<s>1</s>\n",
                "`m<sup>2</sup>` and ``a ` <u>b</u>``",
                "```html\nm<sup>2</sup>\n```\n",
                "~~~\nm<sup>2</sup>\n",
                r"\<sup>2</sup>",
                "<sup>open, </ul> <b>bold</b>",
                "- [x] done\n- [ ] open",
            )
        ],
        ("a ` alone\n\nm<sup>2</sup> `", "a ` alone\n\nm² `"),
        ("```a``` m<sup>2</sup>\n- a\n    - m<sup>3</sup>", "```a``` m²\n- a\n    - m³"),
        ("- a\n\n    - m<sup>3</sup>\n    1. m<sup>3</sup>", "- a\n\n    - m³\n    1. m³"),
        ("<pre>x</pre> <coder> m<sup>2</sup>", "<pre>x</pre> <coder> m²"),
        ("```\ncode\n```\nm<sup>2</sup>", "```\ncode\n```\nm²"),
    ],
)
def test_raised_and_lowered_text_is_text_of_its_line(text: str, expected: str) -> None:
    assert read(text.encode()).text == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "# R&amp;D &lt;x&gt;, caf&eacute; &#x2013; &nosuch; &copy 5&nbsp;km",
            "# R&D <x>, café – &nosuch; &copy 5\xa0km",
        ),
        ("Write `&lt;` for `<`.\n\n```html\na &amp; b\n```\n", "Write `&lt;` for `<`.\n\n```html\na &amp; b\n```"),
        ("A:\n\n    a &amp; b\n\nB &amp; C", "A:\n\n    a &amp; b\n\nB & C"),
        ("| a &#124; b | one&#10;two&#13;&NewLine;three |", r"| a \| b | one two  three |"),
        ("10<sup>&minus;3</sup>, <b>R&amp;D</b>, <sub>a &vert; b &lt;c&gt;</sub>", r"10^−3, <b>R&D</b>, a \| b <c>"),
        ('<a title="a &amp; b">x</a> y', '<a title="a &amp; b">x</a> y'),
    ],
)
def test_references_to_characters_are_read_outside_of_code_and_end_no_line_or_cell(text: str, expected: str) -> None:
    assert extract_text(text.encode(), "a.md").text == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The weir ![its gate](%s) stands.", "The weir ![its gate]() stands."),
        ("The weir ![][image1]\n\n[image1]: <%s>", "The weir ![][image1]\n\n[image1]: <>"),
        ("<img src='%s' alt='gate'>", "<img src='' alt='gate'>"),
        ("`data:image/png;base64,iVBOR`", "`data:image/png;base64,iVBOR`"),
    ],
)
def test_the_bytes_of_an_image_are_no_text(text: str, expected: str) -> None:
    assert read(text.replace("%s", f"data:image/png;base64,{'iVBOR+/0' * 100}=").encode()).text == expected


@pytest.mark.parametrize(
    "part",
    [
        *("<sup>", "`", "` ", "```\n", "<sup ", "</sup>", "`` ` ", "\\<sup>a", "<b>", "<sup><b>"),
        *("<pre>", "<pre ", "<code></pre>", '="', "='=\"", "\n\n    a", "\n\n\t", "<code></code>"),
        *("&", "&amp", "&amp;", "&#", "&#9;"),
    ],
)
def test_hostile_tags_cost_little(part: str) -> None:
    started = time.process_time()
    read((part * (200_000 // len(part)) + "</").encode())
    assert time.process_time() - started < 5
