"""Charsets and transfer encodings that are missing, wrong or damaged, in texts and headers."""

import base64
import codecs
import quopri
from collections.abc import Callable

import pytest

from tests.readers.mail.raw import part, read

GERMAN = "Grüße aus Lerchbruck, die Größe stimmt für München."
RUSSIAN = "Уровень воды в реке упал на два метра за прошедшую неделю."
CHINESE = "水位在过去一周下降了两米，大坝的检查将于星期五进行。"
JAPANESE = "水位が先週から二メートル下がったので、金曜日にダムを点検します。"


def kind(charset: str) -> str:
    return f"text/plain; charset={charset}" if charset else "text/plain"


@pytest.mark.parametrize(
    ("charset", "data", "text"),
    [
        pytest.param("us-ascii", GERMAN.encode(), GERMAN, id="F3"),
        pytest.param("iso-8859-1", GERMAN.encode(), GERMAN, id="F3-latin"),
        pytest.param("gb2312", CHINESE.encode(), CHINESE, id="F3-chinese"),
        pytest.param("x-unknown", RUSSIAN.encode("koi8-r"), RUSSIAN, id="F3-unknown"),
        pytest.param("iso-8859-1", "Der Pegel – „Kessing“".encode("cp1252"), "Der Pegel – „Kessing“", id="F3-windows"),
        pytest.param("shift_jis", "①水位".encode("cp932"), "①水位", id="F3-larger"),
        pytest.param("utf-16", GERMAN.encode(), GERMAN, id="F3-wide"),
        pytest.param("utf-16", GERMAN.encode("utf-16"), GERMAN, id="right-wide"),
        pytest.param("koi8-r", RUSSIAN.encode("koi8-r"), RUSSIAN, id="right"),
        pytest.param("iso-2022-jp", JAPANESE.encode("iso-2022-jp"), JAPANESE, id="right-japanese"),
        pytest.param("", CHINESE.encode("gb18030"), CHINESE, id="none"),
        pytest.param("base64", GERMAN.encode(), GERMAN, id="F3-no-charset"),
    ],
)
@pytest.mark.parametrize("encoding", ["8bit", "base64"])
def test_a_text_is_read_by_its_charset_unless_that_is_wrong(
    charset: str, data: bytes, text: str, encoding: str
) -> None:
    written = base64.encodebytes(data) if encoding == "base64" else data
    found = read(part(kind(charset), written, **{"transfer-encoding": encoding}))
    assert found.text == f"# Gauge\n\n{text}"
    assert (found.note is None) == (charset != "x-unknown")


@pytest.mark.parametrize(
    ("charset", "data", "text", "note"),
    [
        ("utf-8", GERMAN.encode("cp1252"), GERMAN, "encoding is not the utf-8 that it declares"),
        ("us-ascii", JAPANESE.encode("shift_jis"), JAPANESE, "encoding is not the us-ascii that it declares"),
        ("utf-8", GERMAN.encode().replace(b"\xc3\xb6", b"\xc3"), GERMAN.replace("ö", "\ufffd"), "not UTF-8"),
        ("us-ascii", "水位".encode("big5"), "\ufffd" * 4, "its encoding cannot be told"),
    ],
)
def test_a_doubtful_charset_is_in_the_note(charset: str, data: bytes, text: str, note: str) -> None:
    found = read(part(kind(charset), data))
    assert found.text.removeprefix("# Gauge\n\n") == text
    assert note in (found.note or "")


@pytest.mark.parametrize(
    "saved",
    [
        pytest.param(lambda mail: mail.encode("utf-16"), id="F4"),
        pytest.param(lambda mail: codecs.BOM_UTF16_BE + mail.encode("utf-16-be"), id="F4-big-endian"),
        pytest.param(lambda mail: mail.encode("utf-16-le"), id="F4-without-mark"),
        pytest.param(lambda mail: ("\r\n" + mail).encode("utf-16-be"), id="F4-behind-a-line"),
        pytest.param(lambda mail: codecs.BOM_UTF8 + mail.encode(), id="F4-mark-of-utf-8"),
        pytest.param(lambda mail: b"\n\n" + mail.encode(), id="F4-empty-lines"),
    ],
)
@pytest.mark.parametrize("charset", ["utf-16", "utf-8", "windows-1252"])
def test_a_mail_that_an_editor_saved_is_read(saved: Callable[[str], bytes], charset: str) -> None:
    mail = f"Subject: Größe\nContent-Type: {kind(charset)}\n\n{GERMAN}\n"
    assert read(saved(mail), b"").text == f"# Größe\n\n{GERMAN}"


LINES = "The gauge at Corley failed on Monday.\nThe crew comes on Friday, with the keys of the weir.\n" * 3
ENCODED = base64.encodebytes(LINES.encode()).decode()
CUT = "base64 that is cut or damaged; its readable part is kept"


@pytest.mark.parametrize(
    ("encoding", "written", "text", "note"),
    [
        pytest.param("base64", ENCODED[: len(ENCODED) - 4], LINES[:-3], CUT, id="F7"),
        pytest.param("BASE64", ENCODED[:151].replace("\n", "\r\n"), LINES[:112].strip(), CUT, id="F7-lines"),
        pytest.param("base64", "VGhlIGdhdWdlIGZlbGw", "The gauge fell", CUT, id="F7-without-end"),
        pytest.param("base64", ENCODED[:30] + "!" + ENCODED[30:], LINES.strip(), CUT, id="F7-character-too-many"),
        pytest.param("base64", "VGhlIGdhdWdl\nIGF0ICE*\nQ29ybGV5", "The gauge atCorley", CUT, id="F7-character-spoilt"),
        pytest.param("base64", "T25l\nIFR3bw==\nIFRocmVl", "One Two Three", None, id="F7-behind-the-end"),
        pytest.param(
            "base64",
            "T25l\n____\nThe list of the basin\nhttps://a.example",
            "One\nThe list of the basin\nhttps://a.example",
            CUT,
            id="F7-text-behind",
        ),
        pytest.param(
            "base64", "The gauge fell.\nNobody came.", "The gauge fell.\nNobody came.", None, id="F7-not-encoded"
        ),
        pytest.param(
            "quoted-printable", "Gr=C3=BC=C3=9Fe =ZZ=\n and=", "Grüße =ZZ and", "1 wrong escapes", id="F7-quoted"
        ),
        pytest.param(
            "quoted-printable", quopri.encodestring(GERMAN.encode()).decode(), GERMAN, None, id="right-quoted"
        ),
        pytest.param("x-uuencode", "begin 644 a\n.5&AE(&=A=6=E(&9E;&P`\n`\nend\n", "The gauge fell", None, id="F7-uu"),
        pytest.param("base64", ENCODED, LINES.strip(), None, id="right"),
    ],
)
def test_what_can_be_decoded_is_read(encoding: str, written: str, text: str, note: str | None) -> None:
    found = read(part("text/plain; charset=utf-8", written, **{"transfer-encoding": encoding}))
    assert found.text.removeprefix("# Gauge\n\n") == text
    assert (note or "") in (found.note or "")
    assert (found.note is None) == (note is None)


@pytest.mark.parametrize(
    ("header", "subject"),
    [
        ("Subject: Größe".encode(), "Größe"),
        ("Subject: Größe für Pegel".encode("cp1252"), "Größe für Pegel"),
        ("Subject: Уровень воды в реке упал на два метра".encode("koi8-r"), "Уровень воды в реке упал на два метра"),
        (b"Subject: =?utf-8?Q?Gr=C3=B6=C3=9Fe aus Corley?=", "Größe aus Corley"),
        (b"Subject: =?utf-8?B?R3LDtsOfZSBhdXM=", "Größe aus"),
        (b"Subject: =?utf-8?B?R3LDtsOfZSBhdXMgQ29ybGV5LiB?=", "Größe aus Corley."),
        (b"Subject: =?utf-8?Q?Gr=C3?= =?utf-8?Q?=B6=C3=9Fe?=", "Größe"),
        (b"Subject: =?x-unknown?Q?Gr=C3=B6=C3=9Fe?=", "Größe"),
        (b"Subject: Re:=?utf-8?Q?Gr=C3=B6=C3=9Fe?=und", "Re:Größeund"),
        (b"Subject: =?us-ascii?Q?Gr=C3=B6=C3=9Fe?=", "Größe"),
    ],
)
def test_a_header_that_is_written_wrongly_is_read(header: bytes, subject: str) -> None:
    assert read(b"\n\nIt fell.", header).text == f"# {subject}\n\nIt fell."
    assert read(b"\n\nIt fell.", header).title == subject
