import time

import pytest

from lightrag_dagster.readers.plain.markdown import read


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("About 10<sup>6</sup> m<sup>2</sup> of H<sub>2</sub>O.", "About 10^6 m² of H2O."),
        ("The 4<SUP>th</SUP> s<sup>-1</sup>, <u>now</u>.", "The 4th s⁻¹, now."),
        ('See<sup class="x">[1](#n1)</sup> x<sub>i</sub>.', "See[1](#n1) xi."),
        *[
            (one, one)
            for one in (
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
        ("```\ncode\n```\nm<sup>2</sup>", "```\ncode\n```\nm²"),
    ],
)
def test_raised_and_lowered_text_is_text_of_its_line(text: str, expected: str) -> None:
    assert read(text.encode()).text == expected


@pytest.mark.parametrize("part", ["<sup>", "`", "` ", "```\n", "<sup ", "</sup>", "`` ` ", "\\<sup>a"])
def test_hostile_tags_cost_little(part: str) -> None:
    started = time.process_time()
    read((part * (200_000 // len(part)) + "</").encode())
    assert time.process_time() - started < 5
