"""Values of form fields behind their labels, and comments after their page."""

import pytest

from lightrag_dagster.readers.extraction import extract_text
from tests.readers.pdf.pages import Shown, pdf

LABELS = [Shown(72, 700, "Name:"), Shown(300, 700, "Town:"), Shown(72, 670, "Approved")]


def field(kind: str, name: str, rect: str, more: str) -> str:
    return f"<</Type/Annot/Subtype/Widget/FT/{kind}/T({name})/Rect[{rect}]/F 4{more}>>"


BOXES = [
    field("Btn", "yes", "30 668 42 680", "/V/Yes/AS/Yes"),
    field("Btn", "no", "50 668 62 680", "/V/Off/AS/Off"),
    field("Btn", "right", "130 668 142 680", "/V/Yes/AS/Yes"),
    field("Btn", "wrong", "150 668 162 680", "/V/Off/AS/Off"),
]


# Reported case E2.
@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ([field("Tx", "n", "110 695 280 715", "/V(Ida Wren)")], "Name: Ida Wren Town:\nApproved"),
        (
            [
                field("Tx", "t", "340 695 480 715", "/V(Lerchbruck)"),
                field("Tx", "n", "110 695 280 715", "/V(Ida Wren)"),
            ],
            "Name: Ida Wren Town: Lerchbruck\nApproved",
        ),
        ([field("Ch", "t", "340 695 480 715", "/Ff 131072/Opt[[(k)(Kessing)][(l)(Lerch)]]/V(k)")], "Kessing"),
        ([field("Btn", "a", "130 668 142 680", "/V/Yes/AS/Yes/AP<</N<</Yes null>>>>")], "Approved [x]"),
        ([field("Btn", "a", "130 668 142 680", "/V/Off/AS/Off")], "Approved [ ]"),
        ([field("Btn", "a", "55 668 67 680", "/V/Yes/AS/Yes")], "[x] Approved"),
        ([BOXES[0], BOXES[1]], "[x] [ ] Approved"),
        ([BOXES[1], BOXES[0]], "[x] [ ] Approved"),
        ([BOXES[3], BOXES[2]], "Approved [x] [ ]"),
        ([field("Tx", "Remarks", "72 400 280 500", "/V(All is well)")], "Remarks: All is well"),
    ],
    ids=["text", "two on a line", "choice", "checked", "unchecked", "label behind", *["two boxes"] * 3, "no label"],
)
def test_a_value_stands_behind_its_label(fields: list[str], text: str) -> None:
    found = extract_text(pdf(LABELS, fields=fields), "a.pdf")
    assert text in found.text
    assert found.losses is not None
    assert found.losses.lost == 0


def test_passwords_and_empty_fields_are_not_read() -> None:
    fields = [
        field("Tx", "p", "110 695 280 715", "/Ff 8192/V(secret)"),
        field("Tx", "t", "340 695 480 715", "/V()"),
    ]
    assert extract_text(pdf(LABELS, fields=fields), "a.pdf").text == "Name: Town:\nApproved"


# Reported case E11.
@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        ("/Subtype/Text/Contents(Reviewer says no)", "Comment: Reviewer says no"),
        ("/Subtype/Highlight/T(Ida Wren)/Contents(Check this)", "Comment by Ida Wren: Check this"),
        ("/Subtype/FreeText/T(Ida Wren)/Contents(Paid)", "Paid"),
        ("/Subtype/Text/F 2/Contents(Hidden)", ""),
        ("/Subtype/Link/Contents(A link)", ""),
        ("/Subtype/Popup/Contents(A copy)", ""),
    ],
)
def test_comments_follow_their_page(annotation: str, text: str) -> None:
    shown = [[Shown(72, 700, "Clause one.")], [Shown(72, 700, "Clause two.")]]
    found = extract_text(pdf(*shown, annotations=[f"<</Type/Annot{annotation}/Rect[72 600 90 620]>>"]), "a.pdf")
    assert found.text == "\n\n".join(filter(None, ["Clause one.", text, "Clause two."]))
