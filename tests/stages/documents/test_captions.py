import pytest

from lightrag_dagster.core.text.figures import described_name
from lightrag_dagster.readers.content import Figure
from lightrag_dagster.readers.extraction import ExtractedText
from lightrag_dagster.stages.documents.captions import Described, Description, with_descriptions

A, B = (f"figure-{letter * 16}" for letter in "ab")
FIGURES = tuple(Figure(name, name, "data:", 100, 100) for name in (A, B))
WEIR = Description("A weir\nin [spring].")
FAILED = Description("", "no answer", again=True)
REFUSED = Description("", "refused")


def described(text: str, *answers: Description, pages: tuple[int, ...] = (), earlier: str = "") -> Described:
    answer = iter(answers)
    extracted = ExtractedText("t", text, "text/markdown", pages, figures=FIGURES)
    return with_descriptions(extracted, lambda asked: [next(answer) for _ in asked], earlier)


@pytest.mark.parametrize(
    ("text", "answers", "expected"),
    [
        ("No image.", [], "No image."),
        (f"a\n\n![]({A})\n\nb", [WEIR], f"a\n\n![A weir in (spring).]({A})\n\nb"),
        (f"![The dam]({A})", [WEIR], f"![The dam: A weir in (spring).]({A})"),
        (f"![The dam]({A})", [FAILED], f"![The dam]({A})"),
        (f"a\n\n![]({A})\n\nb", [FAILED], "a\n\nb"),
        (f"a\n\n![]({A})", [Description("-")], "a"),
        (f"a\n![]({A})\nb", [FAILED], "a\nb"),
        (f"![]({A})\n\nb", [FAILED], "b"),
        (f"![]({A})", [FAILED], ""),
        (f"![]({A})\n\n![]({B})", [FAILED, FAILED], ""),
        (f"![]({A})\n\n![]({B})\n\nc", [FAILED, WEIR], f"![A weir in (spring).]({B})\n\nc"),
        (f"a ![]({A}) b", [FAILED], "a  b"),
        # Only what a reader found is an image; a text may say anything.
        (f"![](figure-{'c' * 16})", [], f"![](figure-{'c' * 16})"),
    ],
)
def test_descriptions_stand_at_their_places(text: str, answers: list[Description], expected: str) -> None:
    assert described(text, *answers).extracted.text == expected


def test_an_image_keeps_what_an_earlier_reading_said_under_the_same_caption() -> None:
    weir, dam = described_name(A, "", "1" * 32), described_name(B, "The dam", "2" * 32)
    earlier = f"![A weir.]({weir}) and ![The dam: high]({dam})"
    same = described(f"![]({A})\n\n![The dam]({B})", earlier=earlier)
    assert same[1:] == (None, True)
    assert same.extracted.text == f"![A weir.]({weir})\n\n![The dam: high]({dam})"
    other = described(f"![]({A})\n\n![Another]({B})", FAILED, earlier=earlier)
    assert other.extracted.text == f"![A weir.]({weir})\n\n![Another]({B})"
    assert other[1:] == ("1 of 2 images are not described yet: no answer", True)
    assert not described(f"![]({A})", WEIR, earlier=f"![Not described]({A})").kept


@pytest.mark.parametrize("answers", [(WEIR, WEIR), (FAILED, WEIR), (WEIR, FAILED), (FAILED, FAILED)])
def test_pages_begin_where_they_did(answers: tuple[Description, ...]) -> None:
    parts = ["One.", f"![]({A})", f"Three.\n\n![]({B})", "Four."]
    text, pages = "\n\n".join(parts), []
    for part in parts:
        pages.append(text.index(part))
    made = described(text, *answers, pages=tuple(pages)).extracted
    ends = [*made.pages[1:], len(made.text)]
    found = [made.text[start:end].strip() for start, end in zip(made.pages, ends, strict=True)]
    shown = [
        f"![A weir in (spring).]({name})" if one is WEIR else "" for name, one in zip((A, B), answers, strict=True)
    ]
    assert found == ["One.", shown[0], f"Three.\n\n{shown[1]}".strip(), "Four."]


@pytest.mark.parametrize(
    ("answers", "problem"),
    [
        ([WEIR, WEIR], None),
        ([WEIR, Description("-")], None),
        ([WEIR, REFUSED], "1 of 2 images are not described: refused"),
        ([REFUSED, FAILED], "2 of 2 images are not described yet: no answer"),
    ],
)
def test_why_images_have_no_description(answers: list[Description], problem: str | None) -> None:
    assert described(f"![]({A}) ![]({B})", *answers)[1] == problem
