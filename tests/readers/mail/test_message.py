"""What is attached to mails; those of other programs: see test_samples.py and test_text_samples.py."""

import gzip
import io
from email.message import EmailMessage
from pathlib import Path

import pypdfium2
import pytest
from PIL import Image

from lightrag_dagster.core.text.figures import find_marks
from lightrag_dagster.readers.content import Limits, ReadingOptions
from lightrag_dagster.readers.extraction import extract_text
from lightrag_dagster.readers.isolation import extract_isolated
from lightrag_dagster.readers.mail import attachments
from tests.readers.mail.raw import PAGE, PLAIN, part, read, text_of
from tests.readers.office.workbooks import too_large

SAMPLES = Path(__file__).parents[1] / "samples"
FIGURES = ReadingOptions(figures=True)


def mail(*attached: tuple[str, bytes], subject: str = "Levels", text: str = "See the files.") -> EmailMessage:
    message = EmailMessage()
    message["Subject"] = subject
    message.set_content(text)
    for name, data in attached:
        message.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    return message


def sections(message: EmailMessage) -> str:
    text = extract_text(message.as_bytes(), "a.eml").text
    assert text.startswith("# Levels\n\nSee the files.")
    return text.removeprefix("# Levels\n\nSee the files.").strip()


@pytest.mark.parametrize("name", ["nodemailer-page.eml", "nodemailer-reply.eml"])
def test_an_answer_with_attachments_of_another_program(name: str) -> None:
    found = extract_text((SAMPLES / name).read_bytes(), name, FIGURES)
    assert found.text.count("Kingfisher") == 2
    assert found.text.count("\n\nAttachments: broken.pdf, all.zip\n\n") == 1
    assert "\n\n## survey.rtf\n\nGauge survey\n\nIda Wren\n\n2025-03-04\n\n### Station visits\n\n" in found.text
    assert found.text.endswith('\n\n## levels.json\n\n```\n{"Corley": 0.97}\n```')
    assert [(one.width, one.height) for one in found.figures] == [(320, 200)]
    assert (found.note or "").startswith("2 of 5 attachments are not read: broken.pdf: damaged")
    assert (found.note or "").endswith("; all.zip: its type is not known")
    for lost in ("Lerchbruck?", "Per Holm wrote", "River office"):
        assert lost not in found.text


@pytest.mark.parametrize(
    ("name", "data", "section"),
    [
        ("a b.csv", b"Station,Level\nSteinhag,1.42\n", "| Station | Level |\n| --- | --- |\n| Steinhag | 1.42 |"),
        ("notes.txt", b"Kingfisher\n", "Kingfisher"),
        (
            "notes.md",
            b"---\ntitle: T\n---\n# One\n\ntext\n\nTwo\n---\n\n```\n# no heading\n```\n\n###### Six\n\nend",
            "### One\n\ntext\n\n#### Two\n\n```\n# no heading\n```\n\n###### Six\n\nend",
        ),
        ("level.py", b"# no heading\nx = '''```'''\n", "```\n# no heading\nx = '''```'''\n```"),
        ("fence.sh", b"# a\n````\n", "`````\n# a\n````\n`````"),
        ("PAGE.HTML", b"<h1>Kingfisher</h1><p>1.42</p>", "### Kingfisher\n\n1.42"),
        ("more.eml", b"Subject: More\r\n\r\nIt fell.\r\n-- \r\nIda\r\n", "### More\n\nIt fell."),
        ("hand.rtf", (SAMPLES / "hand.rtf").read_bytes(), None),
        ("fpdf2.pdf", (SAMPLES / "fpdf2.pdf").read_bytes(), None),
        ("xlsxwriter.xlsx", (SAMPLES / "xlsxwriter.xlsx").read_bytes(), None),
    ],
)
def test_an_attachment_is_a_section_by_the_reader_of_its_format(name: str, data: bytes, section: str | None) -> None:
    found = sections(mail((name, data)))
    assert found.startswith(f"## {name}\n\n")
    if section is not None:
        assert found == f"## {name}\n\n{section}"
    else:
        assert "Steinhag" in found
        assert "\n# " not in found


@pytest.mark.parametrize(
    ("name", "data", "read"),
    [
        ("notes.md.gz", gzip.compress(b"# One", mtime=0), "\n\n## notes.md.gz\n\n### One"),
        ("changelog.gz", gzip.compress(b"First.", mtime=0), "\n\n## changelog.gz\n\nFirst."),
        (
            "more.eml.gz",
            gzip.compress(b"From: a\nSubject: More\n\nIt fell.", mtime=0),
            "\n\n## more.eml.gz\n\n### More\n\nFrom: a\n\nIt fell.",
        ),
        ("README", b"Read me.", "\n\n## README\n\nRead me."),
        ("tool", b"\x7fELF\0\1", "\n\nAttachments: tool"),
        ("a.tar.gz", gzip.compress(b"x", mtime=0), "\n\nAttachments: a.tar.gz"),
        ("a.md.gz", gzip.compress(b"x", mtime=0)[:9], "\n\nAttachments: a.md.gz"),
        ("bomb.md.gz", gzip.compress(bytes(6_000_000), mtime=0), "\n\nAttachments: bomb.md.gz"),
    ],
)
def test_a_packed_attachment_is_what_is_inside(name: str, data: bytes, read: str) -> None:
    found = extract_text(mail((name, data)).as_bytes(), "a.eml")
    assert found.text == f"# Levels\n\nSee the files.{read}"
    reasons = dict.fromkeys(("tool", "a.tar.gz"), "its type is not known") | {
        "a.md.gz": "damaged or cut short",
        "bomb.md.gz": "larger than the most of all attachments = 5000000",
    }
    assert (found.note or "").startswith(f"1 of 1 attachments are not read: {name}: " if name in reasons else "")
    assert reasons.get(name, "") in (found.note or "")


@pytest.mark.parametrize(
    ("name", "note"),
    [("plan.dwg", "1 of 1 attachments are not read: plan.dwg: its type is not known"), ("smime.p7s", None)],
)
def test_an_attachment_of_no_known_type_is_told_of_unless_it_is_a_signature(name: str, note: str | None) -> None:
    assert extract_text(mail((name, b"\x00\x01")).as_bytes(), "a.eml").note == note


def test_what_cannot_be_read_stays_a_name_and_the_row_says_why() -> None:
    files = [("a.zip", b""), ("b.pdf", b"%PDF-"), ("c.docx", b"no"), ("d.csv", b""), ("e.csv", b" "), ("f.png", b"x")]
    found = extract_text(mail(*files, ("g.txt", b"Kingfisher")).as_bytes(), "a.eml")
    names = "a.zip, b.pdf, c.docx, d.csv, e.csv, f.png"
    assert found.text == f"# Levels\n\nSee the files.\n\nAttachments: {names}\n\n## g.txt\n\nKingfisher"
    assert found.note is not None
    assert found.note.startswith("4 of 5 attachments are not read: b.pdf: damaged or cut short")
    assert "; c.docx: not what its suffix says: no ZIP archive" in found.note
    assert found.note.endswith("; e.csv: it has no text")


def test_mails_in_mails_are_read_and_attachments_of_deep_ones_are_names() -> None:
    inner = mail(("level.txt", b"deepest"), subject="3")
    for subject in ("2", "1"):
        outer = mail(("level.txt", f"at {subject}".encode()), subject=subject)
        outer.add_attachment(inner)
        inner = outer
    assert extract_text(inner.as_bytes(), "a.eml").text == (
        "# 1\n\nSee the files.\n\n## level.txt\n\nat 1\n\n## 2\n\nSee the files.\n\n### level.txt\n\nat 2\n\n"
        "### 3\n\nSee the files.\n\nAttachments: level.txt"
    )


def test_a_mail_attached_as_a_file_is_read_without_its_attachments() -> None:
    inner = mail(("level.txt", b"deep")).as_bytes()
    for _ in range(6):
        inner = mail(("mail.eml", inner)).as_bytes()
    assert extract_text(inner, "a.eml").text == (
        "# Levels\n\nSee the files.\n\n## mail.eml\n\n### Levels\n\nSee the files.\n\nAttachments: mail.eml"
    )


def test_many_attachments_are_read_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attachments, "_MOST", 9)
    many = mail(*((f"{number}.txt", b"Kingfisher") for number in range(50))).as_bytes()
    found = extract_text(many, "a.eml")
    assert (found.text.count("\n## "), found.text.count("Kingfisher")) == (9, 9)
    assert (found.note or "").startswith("41 of 50 attachments are not read: 9.txt: a mail has no more than 9")
    monkeypatch.setattr(attachments, "_MOST_CHARACTERS", 15)
    assert extract_text(many, "a.eml").text.count("Kingfisher") == 1


def with_scan(text: bytes) -> bytes:
    """Return a PDF with its pages and two images of pages behind them."""
    scan, target = io.BytesIO(), io.BytesIO()
    page = Image.effect_noise((600, 800), 90)
    page.save(scan, "PDF", save_all=True, append_images=[page])
    with pypdfium2.PdfDocument(text) as book, pypdfium2.PdfDocument(scan.getvalue()) as scans:
        book.import_pages(scans)
        book.save(target)
    return target.getvalue()


COMMENTED = rb"{\rtf1 The gauge.{\*\annotation Is it?}}"
SCANS = "the text of 2 of its pages is in images; save it as a file of its own, which documents.recognise_text reads"


@pytest.mark.parametrize(
    ("name", "data", "note"),
    [
        ("a.rtf", COMMENTED, "comments of reviewers are left out: 1"),
        ("a.pdf", with_scan((SAMPLES / "fpdf2.pdf").read_bytes()), SCANS),
        (
            "a.eml",
            b"Subject: x\nContent-Type: text/plain; charset=nonesuch\n\nPegel f\xe4llt.",
            "a text: its encoding is not certain",
        ),
        ("a.mbox", b"From - Tue Mar  4 10:00:00 2025\nSubject: x\n\nx\n\n" * 2, ""),
    ],
)
def test_the_doubts_of_an_attachment_are_those_of_the_mail(name: str, data: bytes, note: str) -> None:
    found = extract_text(mail((name, data)).as_bytes(), "a.eml").note or ""
    assert found.startswith(f"{name}: {note}" if note else "")
    assert note or not found


def test_the_encoding_of_an_invitation_may_be_in_doubt() -> None:
    event = b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Pegel f\xe4llt\nEND:VEVENT\nEND:VCALENDAR\n"
    found = extract_text(mail(("a.ics", event)).as_bytes(), "a.eml")
    assert "## Pegel fällt" in found.text
    assert (found.note or "").startswith("a.ics: its encoding is not certain")


def test_a_scan_that_is_attached_has_its_reason() -> None:
    scan = io.BytesIO()
    Image.effect_noise((600, 800), 90).save(scan, "PDF")
    note = extract_text(mail(("a.pdf", scan.getvalue())).as_bytes(), "a.eml").note
    reason = SCANS.replace("2 of its pages is", "1 of its pages is")
    assert note == f"1 of 1 attachments are not read: a.pdf: {reason}"


def test_the_first_doubts_are_named_and_the_others_counted() -> None:
    files = [(f"{number}.rtf", COMMENTED) for number in range(5)]
    note = extract_text(mail(*files).as_bytes(), "a.eml").note
    named = "; ".join(f"{number}.rtf: comments of reviewers are left out: 1" for number in range(3))
    assert note == f"{named}; 2 more doubts"


@pytest.mark.long
def test_an_attachment_that_ends_its_parser_costs_only_itself() -> None:
    found = extract_isolated(mail(("far.xlsx", too_large())).as_bytes(), "a.eml", ReadingOptions(), Limits(60, 512))
    assert found.text == "# Levels\n\nSee the files.\n\nAttachments: far.xlsx"
    assert (found.note or "").startswith("its attachments are not read: ")
    assert "needs more memory than documents.max_memory_mb = 512" in (found.note or "")


def picture(kind: str = "PNG", side: int = 100) -> bytes:
    target = io.BytesIO()
    Image.new("RGB", (side, 80), "navy").save(target, kind)
    return target.getvalue()


PGP = "-----BEGIN PGP MESSAGE-----\nVersion: 1\n\nhQEMA7Pk\n=abcd\n-----END PGP MESSAGE-----"
SIGNED = "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA512\n\nIt fell.\n-----BEGIN PGP SIGNATURE-----\n\niQEz\n"
ABOUT = [
    "It begins with -----BEGIN PGP MESSAGE-----.",
    *(
        f"It begins with{blank}-----BEGIN PGP {kind}-----{blank}on a line of its own.\nThen comes more. "
        f"It ends with{blank}-----END PGP {kind}-----"
        for kind in ("MESSAGE", "SIGNATURE")
        for blank in (" ", "\n")
    ),
    "A text after -----BEGIN PGP SIGNED MESSAGE----- is signed.",
]
ENCRYPTED = "protected by S/MIME or PGP; save a copy without it"


@pytest.mark.parametrize(
    ("content", "shown", "note"),
    [
        (part(PLAIN, f"Hello.\n\n{PGP}\n\nBye."), "Hello.\n\n\n\nBye.", f"a text: {ENCRYPTED}"),
        (part(PLAIN, PGP), "", f"a text: {ENCRYPTED}"),
        (part(PAGE, f"<p>Hello.</p><p>{PGP}</p>".replace("\n", "<br>")), "Hello.", f"a text: {ENCRYPTED}"),
        (part(PLAIN, f"{SIGNED}-----END PGP SIGNATURE-----\n"), "It fell.", None),
        (
            part(
                PLAIN,
                "-----BEGIN PGP SIGNED MESSAGE-----\n\n- - It fell.\n- - It rose.\n- -- \n"
                + SIGNED.partition("fell.\n")[2]
                + "-----END PGP SIGNATURE-----\n- By Ida",
            ),
            "- It fell.\n- It rose.\n- -- \n\n- By Ida",
            None,
        ),
        *((part(PLAIN, about), about, None) for about in ABOUT),
        (
            part(
                "multipart/mixed",
                part(PLAIN, ""),
                part('application/pgp-encrypted; name="PGPMIME version identification"', "Version: 1\n"),
                part('application/octet-stream; name="encrypted.asc"', PGP, disposition="attachment"),
            ),
            "Attachments: encrypted.asc",
            f"1 of 1 attachments are not read: encrypted.asc: {ENCRYPTED}",
        ),
        (
            part("multipart/mixed", part(PLAIN, "x"), part(PLAIN + '; name="a.txt"', f"\n{PGP}")),
            "x\n\nAttachments: a.txt",
            f"1 of 1 attachments are not read: a.txt: {ENCRYPTED}",
        ),
        (
            part("multipart/mixed", part(PLAIN, "x"), part("application/pkcs7-mime", "MIIB")),
            "x\n\nAttachments: smime.p7m",
            f"1 of 1 attachments are not read: smime.p7m: {ENCRYPTED}",
        ),
        (
            part("multipart/mixed", part(PLAIN, "x"), part('application/octet-stream; name="smime.p7m"', "MIIB")),
            "x\n\nAttachments: smime.p7m",
            f"1 of 1 attachments are not read: smime.p7m: {ENCRYPTED}",
        ),
    ],
)
def test_what_is_encrypted_is_no_text_and_noted(content: bytes, shown: str, note: str | None) -> None:
    assert text_of(content).strip() == shown
    assert read(content).note == note


def test_images_in_and_beside_the_page_are_figures() -> None:
    message = EmailMessage()
    message["Subject"] = "Levels"
    message.set_content("<p>The Kingfisher gauge fell.</p><p><img src='cid:a@b' alt='A chart'></p>", subtype="html")
    message.add_related(picture(), "image", "png", cid="<a@b>", disposition="inline", filename="image001.png")
    message.add_related(picture(side=10), "image", "png", cid="<c@d>", disposition="inline", filename="logo.png")
    message.add_attachment(picture("JPEG", 120), maintype="image", subtype="jpeg", filename="weir.jpg")
    found = extract_text(message.as_bytes(), "a.eml", FIGURES)
    first, second = find_marks(found.text)
    assert (first[2], second[2]) == ("A chart", "weir.jpg")
    assert [one.name for one in found.figures] == [first[3], second[3]]
    assert found.text[: first[0]] == "# Levels\n\nThe Kingfisher gauge fell.\n\n"
    assert (found.text[first[1] : second[0]], found.text[second[1] :]) == ("\n\n", "")
    named = extract_text(message.as_bytes(), "a.eml")
    assert named.text == "# Levels\n\nThe Kingfisher gauge fell.\n\nAttachments: weir.jpg"
    reason = "an image; save it as a file of its own, which documents.recognise_text reads"
    assert named.note == f"1 of 1 attachments are not read: weir.jpg: {reason}"  # those of the page are no attachments


POEM = f"{chr(10).join(f'> Line {number} of the poem' for number in range(7))}\n\nIda"


@pytest.mark.parametrize(
    ("header", "own"),
    [
        (b"Subject: Gauge\n", POEM),
        (b"Subject: Gauge\nIn-Reply-To: <a@b.example>\n", "Ida"),
        (b"Subject: Gauge\nReferences: <a@b.example>\n", "Ida"),
        (b"Subject: Re: Gauge\n", "Ida"),
    ],
)
def test_a_mail_that_answers_nothing_keeps_lines_like_quotes(header: bytes, own: str) -> None:
    assert read(f"\n{POEM}".encode(), header).text.partition("\n\n")[2].strip() == own
    attributed = read(f"\nFine.\n\nOn Tue, 4 Mar 2025, Per\nwrote:\n{POEM}".encode(), header).text
    assert attributed.partition("\n\n")[2].split() == ["Fine.", "Ida"]


def test_lines_that_go_on_without_their_space_are_joined() -> None:
    kind = "text/plain; charset=utf-8; format=flowed; delsp=yes"
    found = part(kind, "The gauge was read each mor \nning and the  \nlevel fell.\nIt rose. \n\nEnd. \n-- \nIda")
    assert text_of(found) == "The gauge was read each morning and the level fell.\nIt rose. \n\nEnd."


def test_a_mail_whose_parts_are_damaged_keeps_its_text() -> None:
    data = b"""Subject: Levels
Content-Type: multipart/mixed; boundary="a"

--a
Content-Type: multipart/alternative

nothing
--a
Content-Type: text/plain

The gauge fell.
--a--
"""
    assert extract_text(data, "a.eml").text == "# Levels\n\nThe gauge fell."


def test_images_of_an_attachment_are_figures() -> None:
    found = extract_text(mail(("figures.docx", (SAMPLES / "figures.docx").read_bytes())).as_bytes(), "a.eml", FIGURES)
    assert len(found.figures) == 1
    assert next(find_marks(found.text))[3] == found.figures[0].name


def test_a_date_that_no_calendar_has_is_left_out() -> None:
    assert (
        read(b"\nThe weir.", b"Subject: Gauge\nDate: Mon, " + b"9" * 20 + b" Jan 2024 10:00:00 GMT\n").properties.date
        is None
    )
