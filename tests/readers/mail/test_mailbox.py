"""Mailboxes: part 5 of issue 49."""

import mailbox
from email.message import EmailMessage
from pathlib import Path

import pytest

from lightrag_dagster.core.text.markdown import heading_paths
from lightrag_dagster.readers.content import UnreadableError
from lightrag_dagster.readers.extraction import ExtractedText, extract_text

BEGINS = [
    "From ida@weir.example Tue Mar  4 10:00:00 2025",
    "From - Tue Mar 04 10:00:00 2025",
    "From 1234567890@xxx Tue Mar 04 10:00:00 +0000 2025",
    "From ida at weir.example  Tue Mar  4 10:00:00 2025",
    "From 0f3a9c Mon Sep 17 00:00:00 2001",
]


def mail(subject: str, text: str) -> str:
    named = f"Subject: {subject}\n" if subject else ""
    return f"From: Ida Wren <ida@weir.example>\nTo: Per\n{named}\n{text}\n"


def extract(text: str | bytes) -> ExtractedText:
    return extract_text(text.encode() if isinstance(text, str) else text, "a.mbox")


def test_headings_in_a_mail_are_below_its_subject() -> None:
    page = "<h1>Levels</h1><p>All of them rose in the night.</p><h2>Ida</h2><p>She was there.</p>"
    mails = [
        mail("Gauge", "# config of it\nport = 1"),
        mail("News", page).replace("To:", "Content-Type: text/html\nTo:"),
    ]
    text = extract("".join(f"{BEGINS[0]}\n{one}\n" for one in mails)).text
    assert [path for _, path in heading_paths(text)] == ["Gauge", "News", "News > Levels", "News > Levels > Ida"]
    assert "\n\n\\# config of it\nport = 1\n\n" in text


def test_plain_text_of_a_mail_makes_no_heading_and_its_code_ends_with_it() -> None:
    texts = (
        "Yes, do it.\n-----------\nIda\n-",
        "Try:\n```\nport = 1\n\n- [x]",
        "Total\n=\n5\n~~~\n```\n~~~",
        "-- ",
        "End.",
    )
    found = extract("".join(f"{BEGINS[0]}\n{mail(f'Mail {n}', text)}\n" for n, text in enumerate(texts)))
    assert [path for _, path in heading_paths(found.text)] == [f"Mail {n}" for n in range(5)]
    assert "do it.\n\\-----------\nIda\n-\n" in found.text
    assert "port = 1\n\n- [x]\n```\n\n# Mail 2" in found.text


def test_lines_of_answered_mails_are_counted_together() -> None:
    answered = (
        "Below.\n\nFrom: Per\nSent: Tuesday, March 4, 2025 10:11 AM\nTo: Ida\nSubject: {0}\n\nWhich?\n[Ida] That."
    )
    found = extract("".join(f"{BEGINS[0]}\n{mail(f'RE: {one}', answered.format(one))}\n" for one in ("Weir", "Seal")))
    assert found.note == "lines of answered mails are left out: 12"
    assert "That." not in found.text


@pytest.mark.parametrize("begin", BEGINS)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_each_mail_is_a_section_under_its_subject(begin: str, newline: str) -> None:
    text = f"{begin}\n{mail('Levels', 'It rose.')}\n{begin}\n{mail('', 'No word.')}\n{begin}\n{mail('Weir', 'Shut.')}"
    found = extract(text.replace("\n", newline))
    assert found.text.split("\n\n") == [
        *("# Levels", "From: Ida Wren <ida@weir.example>\nTo: Per", "It rose."),
        *("# (no subject)", "From: Ida Wren <ida@weir.example>\nTo: Per", "No word."),
        *("# Weir", "From: Ida Wren <ida@weir.example>\nTo: Per", "Shut."),
    ]
    assert (found.title, found.media_type, found.note) == ("Levels and 2 more mails", "application/mbox", None)


@pytest.mark.parametrize(
    "line",
    [
        "From here on: all is well.",
        "From the beginning of 2025, 10:00 was the hour\nand no other",
        ">From the start",
        ">>From Ida it came",
    ],
)
def test_a_sentence_that_begins_so_is_no_mail(line: str) -> None:
    text = f"First.\n\n{line}\n\nLast."
    found = extract(f"{BEGINS[0]}\n{mail('Levels', text)}")
    assert found.text.count("# ") == 1
    assert line.removeprefix(">").split("\n")[0] in found.text or line.startswith(">>")
    assert "Last." in found.text


def test_mailboxes_of_the_standard_library_are_read(tmp_path: Path) -> None:
    box = mailbox.mbox(tmp_path / "a.mbox")
    for number in range(3):
        message = EmailMessage()
        message["Subject"], message["From"] = f"Pegel № {number}", "Ida <ida@weir.example>"
        message.set_content("Höhe: 3 m\n\nFrom now on it falls.\n")
        message.add_attachment(b"gauge,level\nx,1\n", maintype="text", subtype="csv", filename="levels.csv")
        box.add(message)
    box.close()
    found = extract((tmp_path / "a.mbox").read_bytes())
    assert [line for line in found.text.splitlines() if line.startswith("# ")] == [f"# Pegel № {n}" for n in range(3)]
    assert found.text.count("\nFrom now on it falls.") == 3
    assert found.text.count("## levels.csv") == 3


def test_one_mail_without_a_line_before_it_is_read_and_what_stands_before_the_first_line_too() -> None:
    assert extract(mail("Levels", "It rose.")).title == "Levels"
    found = extract(f"{mail('One', 'First.')}\n{BEGINS[0]}\n{mail('Two', 'Second.')}")
    assert (found.title, "First." in found.text) == ("One and 1 more mail", True)


def test_a_mail_that_cannot_be_read_costs_itself_alone_and_is_noted() -> None:
    locked = "From: Ida\nContent-Type: multipart/encrypted; boundary=x\n\n--x--\n"
    found = extract(f"{BEGINS[0]}\n{mail('Levels', 'It rose.')}\n{BEGINS[0]}\n{locked}")
    assert "It rose." in found.text
    assert found.note == ("1 of 2 mails are not read whole: mail 2: protected by S/MIME or PGP; save a copy without it")
    with pytest.raises(UnreadableError, match="protected by S/MIME or PGP"):
        extract(f"{BEGINS[0]}\n{locked}")


def test_what_is_no_mailbox_has_a_reason_and_an_empty_one_no_text() -> None:
    with pytest.raises(UnreadableError, match="not a mail: it has no header"):
        extract("\x00\x01 no mailbox")
    assert extract("").text == ""


DELETED = [
    "X-Mozilla-Status: 0009",
    "x-mozilla-status: 100D",
    "X-Status: AD",
    "x-status: DT ",
    "X-Mozilla-Status2: 00200000",
]
KEPT = ["X-Mozilla-Status: 0001", "X-Mozilla-Status: 1010", "X-Status: AF", "X-Mozilla-Status2: 00000008"]
KEPT += [f"X-Status: {word}" for word in ("Delivered", "closed", "Read", "pending", "D as in done", "d")]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", DELETED)
def test_a_mail_that_its_program_has_marked_as_deleted_is_left_out_and_counted(mark: str, newline: str) -> None:
    deleted = f"{BEGINS[1]}\n{mark}\n{mail('Secret', 'It fell.')}\n"
    kept = "".join(f"{BEGINS[1]}\n{one}\n{mail('Levels', f'See {mark}.')}\n" for one in KEPT)
    found = extract((kept + deleted + deleted).replace("\n", newline))
    assert (found.text.count("# Levels"), "It fell." in found.text) == (len(KEPT), False)
    assert (found.note, found.losses and found.losses.lost) == ("mails marked as deleted are left out: 2", 0)
    alone = extract(deleted)
    assert (alone.text, alone.why_empty) == ("", "all of its mails are marked as deleted: 1")


@pytest.mark.long
def test_a_mail_with_too_many_parts_in_parts_costs_itself_alone() -> None:
    parts = "".join(f'Content-Type: multipart/mixed; boundary="b{one}"\n\n--b{one}\n' for one in range(3000))
    text = f"{BEGINS[0]}\n{mail('Levels', 'It rose.')}\n{BEGINS[0]}\nSubject: Deep\n{parts}\nIt fell."
    found = extract(text)
    assert "It rose." in found.text
    assert (found.note or "").startswith("1 of 2 mails are not read whole: mail 2: nested too deeply: its parser has ")
