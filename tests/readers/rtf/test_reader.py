"""Rich Text Format that is written here; `test_samples.py` reads that of programs."""

import pytest

from lightrag_dagster.readers.rtf.reader import read


def text_of(body: str) -> str:
    text = read(f"{{\\rtf1\\ansi {body}}}".encode("ascii")).text
    assert isinstance(text, str)
    return text


@pytest.mark.parametrize(
    ("named", "used", "marks"),
    [(1, 1, "# "), (6, 6, "###### "), (7, 7, "###### "), (2, 3, "")],
    ids=["first level", "last level", "levels below the last", "another style"],
)
def test_a_paragraph_in_the_style_of_a_heading_is_one(named: int, used: int, marks: str) -> None:
    styles = f"{{\\stylesheet{{\\s0 Normal;}}{{\\s{named} heading {named};}}}}"
    assert text_of(f"{styles}\\pard\\s{used} Visits\\par\\pard\\s0 The gauge.") == f"{marks}Visits\n\nThe gauge."


@pytest.mark.parametrize(
    ("length", "left"),
    [(0, "0123456789"), (3, "3456789"), (8, "89"), (9, "123456789"), (1000, "123456789"), (-1, "123456789")],
)
def test_what_stands_for_a_character_is_left_out_one_if_more_than_eight_are_said(length: int, left: str) -> None:
    assert text_of(f"\\uc{length} 5 \\u8364 0123456789") == f"5 €{left}"


# Reported case H4.
@pytest.mark.parametrize(
    ("body", "text"),
    [
        (r"Shown {\v HIDDEN} end.", "Shown end."),
        (r"Shown{\deleted  GONE} end.", "Shown end."),
        (r"One \v two\v0  three \deleted four\plain  five", "One three five"),
        (r"One{\v\par} line\par And {\v two\tab}another", "One line\n\nAnd another"),
        (r"{\*\revtbl{Ida;}}New {\revised words}", "New words"),
    ],
)
def test_hidden_and_deleted_text_is_left_out(body: str, text: str) -> None:
    assert text_of(body) == text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (r"{\f1\'b3} 5 bar, {\f1\'a3} 7, {\f1 m}m", "≥ 5 bar, ≤ 7, μm"),
        (r"{\f1\u-3917?} 8, {\f1\u8805?} 9, {\f2\u-3844 ?} ok", "≥ 8, ≥ 9, ✓ ok"),
        (r"{\field{\*\fldinst SYMBOL 179 \\f \"Symbol\" \\s 11}{\fldrslt\f1\fs22}} 5", "≥ 5"),
        (
            r"{\field{\*\fldinst {SYMBOL 252 \\f Wingdings}}{\fldrslt }} ok {\field{\*\fldinst PAGE}{\fldrslt 3}}",
            "✓ ok 3",
        ),
    ],
)
def test_fonts_of_signs(body: str, text: str) -> None:
    fonts = r"{\fonttbl{\f0 Arial;}{\f1\froman\fcharset2 Symbol;}{\f2\fcharset2{\*\panose 05}Wingdings;}}"
    assert text_of(fonts + body) == text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (r"Pay {\strike 500} 400", "Pay ~~500~~ 400"),
        (r"Pay \striked1 5\'300 \striked0 400", "Pay ~~500~~ 400"),
        (r"Pay \strike 500 \plain 400\par\strike\par B", "Pay ~~500~~ 400\n\n~~B~~"),
        (r"\trowd\cellx1000\intbl{\strike a} b\cell\row\pard {\strike\strike0 c}", "| ~~a~~ b |\n| --- |\n\nc"),
        (r"A{\footnote {\strike One} two} b", "A[1] b\n\n1. ~~One~~ two"),
    ],
)
def test_struck_text_is_marked(body: str, text: str) -> None:
    assert text_of(body) == text


def test_what_is_left_out_is_reported() -> None:
    found = read(rb"{\rtf1\ansi A {\v HIDDEN}text{\deleted GONE}.{\*\annotation No!\par Never.} B}")
    assert (found.text, found.left_out) == ("A text. B", ("HIDDEN", "GONE", "No! Never."))
    assert found.note == "comments of reviewers are left out: 1"


# Reported case H5.
@pytest.mark.parametrize(
    ("body", "text"),
    [
        (r"A {\object\objemb{\*\objclass Word}{\*\objdata 0102ab}{\result shown}} end.", "A shown end."),
        (r"A {\upr{ANSI?\par}{\*\ud{Unicode \u225?}}} end.", "A Unicode á end."),
        (r"A{\footnote {\upr{n?}{\*\ud{n\u225?}}}} end.", "A[1] end.\n\n1. ná"),
    ],
)
def test_results_of_objects_and_unicode_forms_are_read(body: str, text: str) -> None:
    assert text_of(body) == text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (r"Text{\super\chftn}{\footnote\pard {\super\chftn} The note.} goes on.", "Text[1] goes on.\n\n1. The note."),
        (
            r"A\chftn{\footnote One,\par two.} b{\footnote\ftnalt Three.}\par End",
            "A[1] b[2]\n\nEnd\n\n1. One, two.\n2. Three.",
        ),
        (
            r"\trowd\cellx1000\intbl A{\footnote In\tab a cell.}\cell B\cell\row\pard After",
            "| A[1] | B |\n| --- | --- |\n\nAfter\n\n1. In a cell.",
        ),
        (r"A {\v hidden{\footnote note}}b", "A b"),
        # LibreOffice marks a note as one that old readers skip.
        (r"Text{\super \chftn{\*\footnote\chftn\pard The note.}} goes on.", "Text[1] goes on.\n\n1. The note."),
        (r"A {\v hidden{\*\footnote note}}b", "A b"),
    ],
)
def test_notes_stand_below(body: str, text: str) -> None:
    assert text_of(body) == text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (r"10{\super 6} litres", "10^6 litres"),
        (r"40 m\super 2\nosupersub  of H{\sub 2}O", "40 m² of H2O"),
        (r"10{\up6 -1}{\up6 2} and 1{\super st} of May", "10^-12 and 1st of May"),
        (r"as said{\super 3}\par Next", "as said³\n\nNext"),
        (r"\trowd\cellx1000\intbl 10{\super 3}\cell B\cell\row", "| 10^3 | B |\n| --- | --- |"),
    ],
)
def test_raised_numbers_keep_their_meaning(body: str, text: str) -> None:
    assert text_of(body) == text


# Reported case H7.
@pytest.mark.parametrize(
    ("marker", "written"),
    [
        (r"{\listtext\pard\plain \u61623\'3f\tab}", "- "),
        (r"{\listtext\pard\plain\f1 \'95\tab}", "- "),
        (r"{\listtext\uc0\u9679 \tab}", "- "),
        (r"{\pntext\f1\'b7\tab}", "- "),
        (r"{\listtext o\tab}", "- "),
        (r"{\listtext\tab 1.\tab}", "1. "),
        (r"{\listtext a)\tab}", "a) "),
        (r"{\listtext\tab}", ""),
    ],
)
def test_items_have_a_bullet_or_their_number(marker: str, written: str) -> None:
    fonts = r"{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset2 Symbol;}{\f2\fcharset128 Gothic;}}"
    body = rf"{fonts}{marker}first\par {marker} second\par"
    assert text_of(body) == f"{written}first\n\n{written}second"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (r"\ansicpg1251 \'cf\'f0", "Пр"),
        (r"\ansicpg10007 \'8f\'f0", "Пр"),
        (r"\deff1{\fonttbl{\f0 Arial;}{\f1\fcharset204 Arial;}}\pard\plain \'cf\'f0", "Пр"),
        (r"{\fonttbl{\f0\cpg1251 Arial;}}\f0 \'cf\'f0", "Пр"),
        (r"{\fonttbl{\f0\fcharset77 Times;}}\f0 caf\'8e", "café"),
        (r"\ansicpg65001 caf\'c3\'a9", "café"),
    ],
)
def test_bytes_are_read_by_the_code_page_of_their_font(body: str, text: str) -> None:
    assert text_of(body) == text


def test_a_backslash_at_the_end_of_a_line_ends_the_paragraph() -> None:
    assert text_of("One\\\nTwo\\\r\nThree") == "One\n\nTwo\n\nThree"
    assert text_of("{\\listtext\\u8226 \\tab}one\\\n{\\listtext\\u8226 \\tab}two\\\n") == "- one\n\n- two"


def test_the_fallback_of_a_nested_table_is_not_read_twice() -> None:
    nested = r"\trowd\cellx5000\intbl\itap2 Deep\nestcell{\*\nesttableprops\nestrow}{\nonesttables Deep\par}"
    assert text_of(rf"{nested}\intbl Outer\cell B\cell\row") == "| Deep Outer | B |\n| --- | --- |"


# Reported case A6.
@pytest.mark.parametrize(
    ("form", "text"),
    [
        (r"\fftype1\ffres1", "[x] Siren"),
        (r"\fftype1\ffres0\ffdefres1", "[ ] Siren"),
        (r"\fftype1\ffres25\ffdefres1{\*\ffname Check1}", "[x] Siren"),
        (r"\fftype1", "[ ] Siren"),
        (r"\fftype0", "Siren"),
    ],
)
@pytest.mark.parametrize("space", [" ", ""])
def test_check_boxes_have_their_state(form: str, text: str, space: str) -> None:
    field = rf"{{\field{{\*\fldinst FORMCHECKBOX {{\*\formfield{{{form}}}}}}}{{\fldrslt}}}}"
    assert text_of(f"{field}{space}Siren") == text


# Reported cases A1, B6, B10.
@pytest.mark.parametrize(
    ("rows", "text"),
    [
        # Word's way: a cell over two columns has the right edge of the second one, which programs round.
        (
            [(r"\cellx1000\cellx3000", "Span", "C"), (r"\cellx500\cellx1010\cellx3000", "1", "2", "3")],
            "| Span | Span | C |\n| --- | --- | --- |\n| 1 | 2 | 3 |",
        ),
        (
            [
                (r"\cellx500\cellx1000\clmgf\cellx2000\clmrg\cellx3000", "A", "B", "S", ""),
                (r"\cellx500\cellx1000\cellx2000\cellx3000", *"1234"),
            ],
            "| A | B | S | S |\n| --- | --- | --- | --- |\n| 1 | 2 | 3 | 4 |",
        ),
        (
            [
                (r"\cellx500\cellx1000", "Dept", "Name"),
                (r"\clvmgf\cellx500\cellx1000", "Gauging", "Ida"),
                (r"\clvmrg\cellx500\cellx1000", "", "Per"),
            ],
            "| Dept | Name |\n| --- | --- |\n| Gauging | Ida |\n| Gauging | Per |",
        ),
        (
            [
                (r"\clvmgf\cellx500\cellx1000", "Region", "Sales"),
                (r"\clvmrg\cellx500\cellx700\cellx1000", "", "2023", "2024"),
                (r"\cellx500\cellx700\cellx1000", "North", "1", "2"),
            ],
            "| Region | Sales 2023 | Sales 2024 |\n| --- | --- | --- |\n| North | 1 | 2 |",
        ),
        ([(r"\cellx500\cellx1000", "A", "B"), (r"\cellx1000", "")], "| A | B |\n| --- | --- |"),
        ([("", "A", "B"), (r"\clvmrg\cellx500", "1", "2")], "| A | B |\n| --- | --- |\n| 1 | 2 |"),
    ],
)
def test_joined_cells_of_a_table(rows: list[tuple[str, ...]], text: str) -> None:
    body = "".join(rf"\trowd{edges}\intbl " + r"\cell ".join([*cells, r"\row"]) for edges, *cells in rows)
    assert text_of(rf"{body}\pard ") == text


def test_properties_of_a_shape_are_no_text() -> None:
    shape = r"{\shp{\*\shpinst{\sp{\sn shapeType}{\sv 202}}{\shptxt Boxed\par}}{\shprslt{\*\do Boxed}Boxed}}"
    assert text_of(rf"A{shape}B") == "ABoxed\n\nB"
    assert text_of(r"{\header{\*\shpinst{\shptxt Above}}}B") == "B"
