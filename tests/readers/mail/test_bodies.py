"""All texts of a mail, in order, one form of each, and no part that goes unmentioned."""

import pytest

from tests.readers.mail.raw import PAGE, PLAIN, part, read, text_of

IMAGE = part(
    "image/png; name=i.png", "iVBORw0KGgo=", disposition="inline; filename=i.png", **{"transfer-encoding": "base64"}
)
FILE = part("text/csv; name=a.csv", "a,b\n1,2", disposition="attachment; filename=a.csv")
TABLE = "## a.csv\n\n| a | b |\n| --- | --- |\n| 1 | 2 |"
LONG = "The Halden Weir reopens on 1 May, after repairs of two years. " * 9
ROWS = "<tr><th>Article</th><th>Count</th><th>Price</th></tr>" + "".join(
    f"<tr><td>{name}</td><td>{count}</td><td>{price}</td></tr>"
    for name, count, price in (("Gauge", 5, "12.50"), ("Chain", 12, "4.75"), ("Buoy", 3, "99.00"))
)


@pytest.mark.parametrize(
    ("mail", "text"),
    [
        pytest.param(
            part("multipart/mixed", part(PLAIN, "See:"), IMAGE, part(PLAIN, "It fell.")),
            "See:\n\nIt fell.\n\nAttachments: i.png",
            id="F1",
        ),
        pytest.param(
            part("text/enriched", "<bold>Ida</bold> of <color><param>red</param>Corley</color>: 3 << 4"),
            "Ida of Corley: 3 < 4",
            id="enriched",
        ),
        pytest.param(
            part("text/x-amp-html", "<html amp4email><p>It <b>fell</b>.</p></html>"), "It **fell**.", id="amp"
        ),
        pytest.param(
            part("multipart/alternative", part(PLAIN, "It fell."), part("text/x-amp-html", "<p>It fell.</p>")),
            "It fell.",
            id="amp-beside-a-text",
        ),
        pytest.param(
            part("multipart/mixed", part(PLAIN, "One"), FILE, part(PAGE, "<p>Two</p>"), part(PLAIN, "Three")),
            f"One\n\nTwo\n\nThree\n\n{TABLE}",
            id="F1-behind-an-attachment",
        ),
        pytest.param(
            part("multipart/alternative", part(PLAIN, "Plain"), FILE, part(PLAIN, "Behind")),
            f"Plain\n\nBehind\n\n{TABLE}",
            id="F1-attachment-in-alternative",
        ),
        pytest.param(
            part(
                "multipart/alternative",
                part(PLAIN, "The gauge fell."),
                part("multipart/mixed", part(PAGE, "The gauge fell."), FILE, part(PLAIN, "Corley rose meanwhile.")),
            ),
            f"The gauge fell.\n\nCorley rose meanwhile.\n\n{TABLE}",
            id="F1-text-that-one-form-lacks",
        ),
        pytest.param(
            part(
                "multipart/alternative",
                part(PLAIN, "The gauge fell.\nCorley rose meanwhile."),
                part("multipart/mixed", part(PAGE, "The gauge fell."), FILE, part(PAGE, "Corley rose meanwhile.")),
            ),
            f"The gauge fell.\nCorley rose meanwhile.\n\n{TABLE}",
            id="F1-apple-with-an-attachment",
        ),
        pytest.param(
            part("multipart/mixed", part(PLAIN, "Text.\n-- \nIda"), IMAGE, part(PLAIN, "List of the basin")),
            "Text.\n\nList of the basin\n\nAttachments: i.png",
            id="F1-signature-ends-with-its-part",
        ),
        pytest.param(
            part(
                "multipart/mixed",
                part(PLAIN, "Patch:"),
                part("text/x-diff; name=a.patch", "+weir", disposition="inline"),
            ),
            "Patch:\n\n## a.patch\n\n+weir",
            id="F1-text-of-another-kind",
        ),
        pytest.param(
            part("multipart/alternative", *[part(PAGE, "<p>Page</p>")] * 3),
            "Page",
            id="one-form-again",
        ),
        pytest.param(part("text/csv; name=a.csv", "a,b\n1,2"), "a,b\n1,2", id="F1-only-a-file"),
        pytest.param(
            part("multipart/mixed", part(PLAIN, "One")).replace(b'boundary="b', b'boundary="c'),
            "One",
            id="F6-wrong-boundary",
        ),
    ],
)
def test_all_texts_are_read_in_order(mail: bytes, text: str) -> None:
    assert text_of(mail) == text


@pytest.mark.parametrize(
    ("plain", "page", "text"),
    [
        pytest.param(
            "Your mail program cannot show HTML. Please view this in a browser.",
            "<h1>News of the basin</h1><p>The Halden Weir reopens on 1 May after repairs.</p>",
            "## News of the basin\n\nThe Halden Weir reopens on 1 May after repairs.",
            id="F5",
        ),
        pytest.param(
            "Ihr Programm zeigt kein HTML an: https://example.org/weir", f"<p>{LONG}</p>", LONG.strip(), id="F5-address"
        ),
        pytest.param(
            "View this email in your browser",
            f"<p>View this email in your browser</p><p>{LONG * 2}</p>",
            f"View this email in your browser\n\n{(LONG * 2).strip()}",
            id="F5-words-in-both",
        ),
        pytest.param(" \n", "<p>It fell.</p>", "It fell.", id="empty"),
        pytest.param(
            "The gauge fell.", "<p>The gauge fell.</p><p>Sent by River Mail</p>", "The gauge fell.", id="same"
        ),
        pytest.param(
            "Agreed. What of Lerchbruck?",
            f"<p>Agreed. What of Lerchbruck?</p><p>{LONG}</p>",
            f"Agreed. What of Lerchbruck?\n\n{LONG.strip()}",
            id="page-has-more",
        ),
        pytest.param(
            "Your order has left us: all of it should be with you on Friday.",
            f"<p>Your order has left us: all of it should be with you on Friday.</p><table>{ROWS}</table>",
            "Your order has left us: all of it should be with you on Friday.\n\n"
            "| Article | Count | Price | \n|---|---|---|\n| Gauge | 5 | 12.50 | \n"
            "| Chain | 12 | 4.75 | \n| Buoy | 3 | 99.00 |",
            id="page-has-a-table",
        ),
        pytest.param(LONG, "<p>Look into the plain text.</p>", LONG.strip(), id="page-is-the-stub"),
        pytest.param(
            "The pump P9 failed at night. Only here: the budget was 900 EUR, says Karl.",
            f"<p>The pump P9 failed at night.</p>{'<p>Marketing words of a banner.</p>' * 60}",
            "The pump P9 failed at night. Only here: the budget was 900 EUR, says Karl.",
            id="each-lacks-much",
        ),
    ],
)
def test_a_plain_text_that_only_stands_for_the_page_is_left_out(plain: str, page: str, text: str) -> None:
    assert text_of(part("multipart/alternative", part(PLAIN, plain), part(PAGE, page))) == text


INNER = b"Subject: Inner\n" + part(PLAIN, "Inside.")
SECTION = "## Inner\n\nInside."


@pytest.mark.parametrize(
    ("attached", "text"),
    [
        pytest.param(part("message/rfc822", INNER, disposition="attachment; filename=a.eml"), SECTION, id="F6"),
        pytest.param(part("multipart/digest", b"\n" + INNER, b"\n" + INNER), f"{SECTION}\n\n{SECTION}", id="F6-digest"),
        pytest.param(
            part(
                "multipart/mixed; name=levels", part(PLAIN, "In it."), FILE, disposition="attachment; filename=levels"
            ),
            f"## levels\n\nIn it.\n\n#{TABLE}",
            id="F6-mixed",
        ),
        pytest.param(
            part("message/rfc822", b"U3ViamVjdDogSW5uZXIKCkluc2lkZS4=", **{"transfer-encoding": "base64"}),
            SECTION,
            id="F6-encoded-mail",
        ),
        pytest.param(
            part("message/delivery-status", "Reporting-MTA: dns; a.example\n\nAction: failed\n"),
            "Reporting-MTA: dns; a.example\n\nAction: failed",
            id="F6-report",
        ),
        pytest.param(
            part("text/rfc822-headers", "Received: by a.example\nFrom: ida@example.org\nSubject: Inner\n"),
            "## Inner\n\nFrom: ida@example.org",
            id="F6-returned-header",
        ),
        pytest.param(part("application/zip", "PK"), "Attachments: attachment.zip", id="F6-without-name"),
        pytest.param(part("application/pgp-signature", "--"), "", id="signature"),
    ],
)
def test_attachments_with_parts_are_read_or_named(attached: bytes, text: str) -> None:
    assert text_of(part("multipart/mixed", part(PLAIN, "See."), attached)) == f"See.\n\n{text}".strip()


def test_mails_that_are_too_deep_are_named_and_the_note_says_so() -> None:
    mail = part(PLAIN, "deepest")
    for number in range(7):
        mail = part("message/rfc822", b"Subject: %d\n" % number + mail)
    found = read(mail)
    assert found.text.endswith("Attachments: attachment.eml")
    assert (found.note or "").startswith("mails that are deeper in others are only named")
    assert found.losses is not None
    assert found.losses.example == "deepest"


@pytest.mark.parametrize("name", ["winmail.dat", "WINMAIL.DAT", ""])
def test_a_file_that_only_outlook_reads_is_named(name: str) -> None:
    attached = part(f"application/ms-tnef{f'; name={name}' * bool(name)}", "x")
    found = read(part("multipart/mixed", part(PLAIN, "See."), attached))
    assert found.text.endswith(f"Attachments: {name or 'winmail.dat'}")
    assert f"1 of 1 attachments are not read: {name or 'winmail.dat'}: only Outlook reads it" in (found.note or "")


@pytest.mark.parametrize(
    ("page", "text"),
    [
        pytest.param(
            "<body><table width=600><tr><td><table><tr><td>Dear Ida,</td></tr><tr><td>The Weir is open.</td></tr>"
            "</table></td></tr></table>Regards, Hydrotec</body>",
            "Dear Ida,\n\nThe Weir is open.\n\nRegards, Hydrotec",
            id="F9",
        ),
        pytest.param(
            "<table role=presentation><tr><td>Dear Ida,</td></tr></table>Regards, Hydrotec<table><tr><td>Basin"
            "</td></tr></table>Unsubscribe",
            "Dear Ida,\n\nRegards, Hydrotec\n\nBasin\n\nUnsubscribe",
            id="F9-between",
        ),
        pytest.param(
            "<html><body><p>It fell.</p></body></html>\nList of the basin",
            "It fell.\n\nList of the basin",
            id="F9-behind-the-page",
        ),
        pytest.param(
            "<p>It fell.</p><div class='footer nav' id=menu>Weir office</div><aside>Two</aside>",
            "It fell.\n\nWeir office\n\nTwo",
            id="F9-names-of-menus",
        ),
        pytest.param(
            "<p>It fell.</p><p><a href='http://a.example'>Details</a> | <a href='http://b.example'>More</a></p>",
            "It fell.\n\nDetails | More",
            id="F9-links",
        ),
        pytest.param("<div style='display: none'>Preview</div><p>It fell.</p>", "It fell.", id="hidden"),
    ],
)
def test_all_of_a_page_is_content(page: str, text: str) -> None:
    assert text_of(part(PAGE, page)) == text


def test_a_word_that_is_bold_in_part_is_not_lost_in_an_attachment() -> None:
    page = FILE.replace(b"text/csv; name=a.csv", b"text/html; name=a.html").replace(b"a.csv", b"a.html")
    page = page.replace(b"a,b\n1,2", b"<p>The weir of Hal<b>den</b> was built in 1911.</p>")
    found = read(part("multipart/mixed", part(PLAIN, "See:"), page))
    assert found.text.endswith("## a.html\n\nThe weir of Halden was built in 1911.")
    assert found.note is None
