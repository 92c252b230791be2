import pytest

from lightrag_dagster.readers.mail.page import own_page
from lightrag_dagster.readers.mail.quotes import without_quotes
from tests.readers.mail.raw import PAGE, read

FORWARD = "From: Per <per@example.org>\nDate: Tue, 4 Mar 2025\nSubject: Gauge survey\n\nThe seal leaks.\n-- \nPer Holm"
LONG = "\n".join(f"> Line {number}" for number in range(6))


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("The gauge fell.\n\nOn Tue, 4 Mar 2025, Per wrote:\n> What of Lerchbruck?\n> -- \n> Per\n", "The gauge fell."),
        (
            "The gauge fell.\n\nOn Tue, 4 Mar 2025 at 10:11, Per Holm <per@example.org>\nwrote:\n\n> What?\n>\n>> No",
            "The gauge fell.",
        ),
        ("Der Pegel fiel.\nAm 04.03.25 um 10:11 schrieb Per Holm:\n> Was?\n", "Der Pegel fiel."),
        ("Le niveau baisse.\n\nLe mar. 4 mars 2025 à 10:11, Per\n<per@example.org> a écrit :\n\n> Quoi ?\n",
         "Le niveau baisse."),
        ("下がった。\n\n2025年3月4日(火) 10:11 Per <per@example.org>:\n> 水位\n", "下がった。"),
        ("Уровень упал.\n\n4 марта 2025 г. в 10:11 Per <per@example.org> написал(а):\n> Что?\n", "Уровень упал."),
        # Two lines above the quote are the author's.
        ("It fell at 10:11.\nPer wrote:\n> What?", "It fell at 10:11."),
        ("It fell.\n> What?", "It fell."),
        # Below a short quote stands its answer, below a long one the answer to all of the mail.
        ("Per wrote:\n> What of Lerchbruck?\n\nIt fell.\n\n> And Corley?\n\nIt rose.\n",
         "Per wrote:\n> What of Lerchbruck?\n\nIt fell.\n\n> And Corley?\n\nIt rose."),
        (f"On Tue, 4 Mar 2025, Per wrote:\n{LONG}\n\nIt fell.\n", "It fell."),
        # Forwarded.
        (f"See below.\n-- \nIda\n\n---------- Forwarded message ---------\n{FORWARD}",
         f"See below.\n\n---------- Forwarded message ---------\n{FORWARD.partition('-- ')[0]}".rstrip()),
        ("Begin forwarded message:\n\n> From: Per\n> Subject: Gauge survey\n>\n" + LONG,
         "Begin forwarded message:\n\n> From: Per\n> Subject: Gauge survey\n>\n" + LONG),
        # No quotes.
        (f"{LONG}\n", LONG),
        (">From the bridge it is seen.\n", ">From the bridge it is seen."),
        ("Try this:\n>>> level()\n1.42\n>>> level(2)\n", "Try this:\n>>> level()\n1.42\n>>> level(2)"),
        # Signatures.
        ("The gauge fell.\r\n-- \r\nIda Wren\r\nTel: 1\r\n", "The gauge fell."),
        ("a\n-- \nb\n-- \nc", "a\n-- \nb"),
        ("a\n--\nb\n---\nc", "a\n--\nb\n---\nc"),
        ("-- \nIda", "-- \nIda"),
        ("", ""),
    ],
)  # fmt: skip
def test_what_the_author_wrote(text: str, own: str) -> None:
    assert (without_quotes(text, "Gauge survey") or text.strip()) == own


OUTLOOK = "From: Per <per@example.org>\nSent: Tuesday, March 4, 2025 10:11 AM\nTo: Ida\nSubject: {}\n\nThe seal leaks."


@pytest.mark.parametrize(
    ("subject", "about", "is_quoted"),
    [
        ("RE: Gauge survey", "Gauge survey", True),
        ("Re[2]: Gauge survey", "RE: gauge  survey", True),
        ("AW: Gauge survey", "WG: Gauge survey", True),
        ("答复: Gauge survey", "**Gauge survey**", True),
        ("FW: Gauge survey", "Gauge survey", False),
        ("RE: Gauge survey", "Another", False),
        ("Re:", "", False),
        ("", "", False),
    ],
)
@pytest.mark.parametrize("divider", ["", "\n-----Original Message-----\n", "\n________________________________\n\n"])
def test_the_earlier_mail_below_its_header_is_quoted_in_an_answer(
    subject: str, about: str, is_quoted: bool, divider: str
) -> None:
    text = f"Agreed.\n{divider}{OUTLOOK.format(about)}"
    assert (without_quotes(text, subject) or text.strip()) == ("Agreed." if is_quoted else text)


HEADER = "{}\nSubject: [#4711] Printer broken\nTo: Ida\n{}\n\nThe fuser was replaced."


@pytest.mark.parametrize(
    ("first", "field", "is_header"),
    [
        ("From: Per", "Status: closed", False),
        ("From: Per", "Due: 04.03.2025", False),
        ("From: Per", "Due: 2025-03-04", False),
        ("From: Per", "At: 10:11", False),
        ("From: Per", "Version: 2025.10", False),
        ("Ticket: 4711", "Requester: jane@example.com\nUpdated: 2025-03-03 16:15\nStatus: solved", False),
        ("Ticket: 4711", "Requester: Jane <jane@example.com>", False),
        ("Ticket: 4711", "From: jane@example.com", False),
        ("From: per@example.org", "Status: closed", True),
        ("**From:** Per", "Sent: Tuesday, March 4, 2025 10:11 AM", True),
        ("Von: Per", "Gesendet: Dienstag, 4. März 2025 10:11:05", True),
        ("Von: Per", "Gesendet: Montag, 3. März 2025 um 16 Uhr", True),
        ("De : Per", "Envoyé : lundi 3 mars 2025 16 h 15", True),
        ("De\xa0: Per", "Envoyé\xa0: lundi 3 mars 2025 16h15", True),
        ("Fra: Per", "Sendt: 4. marts 2025 10.11", True),
        ("From: Per", "Date: 3/4/25 10:11", True),
        ("发件人: Per", "时间: 2025年3月4日 10:11", True),
    ],
)
def test_lines_of_a_ticket_are_no_header_of_an_earlier_mail(first: str, field: str, is_header: bool) -> None:
    text = HEADER.format(first, field)
    own = "Done.\n\n" + ("" if is_header else text)
    assert without_quotes(f"Done.\n\n{text}", "Re: [#4711] Printer broken") == own.strip()


@pytest.mark.parametrize("frame", ['<div id="divRplyFwdMsg"><font>{}</font></div>', '<p class="MsoNormal">{}</p>'])
def test_the_earlier_mail_below_its_header_in_a_page_is_quoted(frame: str) -> None:
    fields = ("Von:</b> Per Holm &lt;per@example.org&gt;", "Gesendet:</b> 4. März 2025 10:11", "An:</b> Ida")
    header = frame.format("<br>".join(f"<b>{one}" for one in (*fields, "Betreff:</b> Status")))
    mail = f"Content-Type: {PAGE}\n\n<p>The seal is new.</p><hr>{header}<p>The seal leaks.</p><p>Who mends it?</p>"
    found = read(mail.encode(), b"Subject: AW: Status\n")
    assert found.text == "# AW: Status\n\nThe seal is new."
    assert found.note == "lines of answered mails are left out: 6"


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("text/plain", "From: Berlin, 12 June 2024, 14:30\n\nTo: Oslo\n\nPurpose: Bridge"),
        (PAGE, "<p>From: 10:00 on 3 June 2024</p><p>Place: Oslo</p><p>Topic: Bridge</p>"),
        (PAGE, "<p>From: Anna (anna@example.org)</p><p>Place: Oslo</p><p>Topic: Bridge</p>"),
    ],
)
def test_spaced_lines_of_a_plan_are_no_header_of_an_earlier_mail(kind: str, fields: str) -> None:
    mail = f"Content-Type: {kind}\n\nThe plan:\n\n{fields}\n\nIt opens in May."
    found = read(mail.encode(), b"Subject: Re: Bridge\n")
    assert "It opens in May." in found.text
    assert found.note is None


def test_a_line_with_a_colon_above_the_header_of_the_earlier_mail_is_the_authors() -> None:
    assert without_quotes(f"Agreed: replace it.\n{OUTLOOK.format('Seal')}", "Re: Seal") == "Agreed: replace it."


def test_a_ticket_below_a_signature_is_no_part_of_it() -> None:
    ticket = "Ticket: 4711\nSubject: Seal\nStatus: closed\n\nIt was replaced."
    assert without_quotes(f"Done.\n-- \nIda\n\n{ticket}", "Re: Seal") == f"Done.\n\n{ticket}"


GMAIL = '<div class="gmail_quote"><div class="gmail_attr">{}</div>{}</div>'


@pytest.mark.parametrize(
    ("page", "has", "lost"),
    [
        (
            '<p>Agreed.</p><div class="moz-cite-prefix">On 3/4/25 10:11, Per wrote:</div><br>'
            '<blockquote type="cite"><p>It leaks.</p></blockquote><div class="moz-signature">-- <br>Ida</div>',
            ["Agreed."],
            ["leaks", "wrote", "Ida"],
        ),
        (
            "<div>Agreed.</div>"
            + GMAIL.format("On Tue, Per wrote:<br>", '<blockquote class="gmail_quote">It leaks.</blockquote> After.'),
            ["Agreed.", "After."],
            ["leaks", "wrote"],
        ),
        (
            "<div>See.</div>"
            + GMAIL.format("---------- Forwarded message ---------<br>From: <b>Per</b><br>", "<div>It leaks.</div>"),
            ["See.", "From:", "It leaks."],
            [],
        ),
        (
            '<p>See.</p><blockquote type="cite"><div><b>From: </b>Per</div><div><b>Subject: </b>Seal</div>It leaks.'
            "</blockquote>",
            ["See.", "It leaks."],
            [],
        ),
        (
            '<div>Agreed.<br>On Tue, Per wrote:</div><blockquote type="cite">It leaks.</blockquote>',
            ["Agreed.", "wrote"],
            ["leaks"],
        ),
        (
            '<div>Agreed.</div><div dir="ltr" class="gmail_attr">On Tue, Per<br>wrote:<br></div>'
            '<blockquote type="cite">It leaks.</blockquote>',
            ["Agreed."],
            ["leaks", "wrote"],
        ),
        ('<blockquote type="cite">Nothing else.</blockquote>', ["Nothing else."], []),
        ("<blockquote>A quotation.</blockquote>", ["A quotation."], []),
        ('<p>Chart: <img src="cid:a%40b" alt="Levels"><img src="cid:c">', ["data:image/any;base64,AQ==", "cid:c"], []),
        ("", [], []),
        ("<!-- gmail_quote -->", [], []),
        ("<div>a<p>b</p>c&#12;d</div>", ["a", "c"], []),
        ('<p>Agreed.</p><blockquote type="cite">It leaks.</blockquote>&#12;See you.', ["Agreed.", "See"], ["leaks"]),
        ("<div>" * 3000 + "deep", ["deep"], []),
    ],
)
def test_what_mail_programs_mark_as_quoted(page: str, has: list[str], lost: list[str]) -> None:
    own, _ = own_page(page, {"a@b": b"\x01"})
    assert [one for one in has if one not in own] == []
    assert [one for one in lost if one in own] == []
