"""What a file is by its content: part 5 of issue 49, files that were skipped because their names have no suffix."""

import gzip
import random

import pytest

from lightrag_dagster.readers.content import UnreadableError
from lightrag_dagster.readers.formats import FORMATS
from lightrag_dagster.readers.recognition import is_told_by_content, kind_of_packed, recognise

MOST = 10_000
MAIL = (
    b"Return-Path: <a@b.example>\nReceived: from x\n\tby y\nFrom: Ida <ida@b.example>\nSubject: Levels\n\nThe gauge.\n"
)
DRAFT = b"From: Ida Wren <ida@b.example>\r\nTo: Per\r\nSubject: Weir\r\n\r\nClosed.\r\n"
MAILBOX = b"From ida@b.example Tue Mar  4 10:00:00 2025\n" + MAIL
RST = b"Guide\n=====\n\n.. note:: Read this.\n\nText.\n"
COPYRIGHT = b"Format: https://www.debian.org/doc/\nUpstream-Name: weir\nSource: https://weir.example\n\nFiles: *\n"


def kind(data: bytes, path: str, told: str = "") -> str:
    return recognise(data, path, told, MOST)[1]


@pytest.mark.parametrize(
    "name",
    [
        *("README", "LICENSE", "copyright", "CHANGES", "Makefile", "docs/NEWS", "GPL-2.0", "syslog.1"),
        *("README.Debian", "LICENSE.MIT", "changelog.Debian.gz", "Dockerfile.dev", "README.gz", "v2.30-ReleaseNotes"),
        *("cur/1700000001.M1P7.imap1:2,S", "new/1700000001.M1P7.mail.example.com", "1700000001.V8I2_0.host.rs"),
    ],
)
def test_a_name_without_a_suffix_is_told_by_content(name: str) -> None:
    assert is_told_by_content(name)
    assert kind(b"Die Wehre an der Ill.\n", name) == (".txt" if not name.endswith(".rs") else "")


@pytest.mark.parametrize(
    "name",
    [
        *("a.bin", "image.BMP", "a.tar.gz", "notes.md", "notes.md~", "README.md", "copyright.html", "README~", "a.7z"),
        *("new/20240101.notes.md", "below/.gz", "x.bak", "1700000001.report.md", "d/"),
    ],
)
def test_a_name_with_a_suffix_is_not(name: str) -> None:
    assert not is_told_by_content(name)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", ".txt"),
        ("Pegel hoch: ä\n".encode("utf-16"), ".txt"),
        ("Die Wehre wurden für Hochwasser geöffnet.\n".encode("cp1252") * 4, ".txt"),
        (COPYRIGHT, ".txt"),
        (b"From: the board\n\nWe write.\n", ".txt"),
        (MAIL, ".eml"),
        (MAIL.replace(b"\n", b"\r\n"), ".eml"),
        (DRAFT, ".eml"),
        (MAILBOX, ".mbox"),
        (b"From the beginning, at 10:00 in 2025\nall went well\n", ".txt"),
        (RST, ".rst"),
        (b"\n<!-- x --><!DOCTYPE html><title>T</title>", ".html"),
        (b'<?xml version="1.0"?>\n<html xmlns="x"/>', ".html"),
        (b'<?xml version="1.0"?>\n<levels/>', ".xml"),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\0", ".pdf"),
        (b"{\\rtf1 x}", ".rtf"),
        (b"\x7fELF\x02\x01\x01\0\0", ""),
        (b"PK\x03\x04\x14\0\0\0", ""),
        (random.Random(1).randbytes(3000), ""),
        (b"#!/bin/sh\necho\n" + bytes(range(256)) * 20, ""),
    ],
)
def test_content_tells_the_format(data: bytes, expected: str) -> None:
    assert kind(data, "name") == expected
    assert expected in ("", *FORMATS)


def test_in_a_maildir_any_header_is_that_of_a_mail() -> None:
    header = b"X-Spam: yes\nTo: all\n\nBuy.\n"
    assert kind(header, "spam") == ".txt"
    assert kind(header, "new/1700000001.M1P7.host") == ".eml"
    assert kind(MAIL, "new/1700000001.M1P7.host.md") == ".eml"
    assert kind(b"# Levels\n", "1700000001.12.md") == ""  # by its suffix
    assert kind(gzip.compress(MAIL), "cur/1700000001.M1P7.host:2,S") == ".eml"  # packed by the server


def test_a_file_that_is_longer_than_may_be_read_is_told_by_its_beginning() -> None:
    text = "Die Ill führt Hochwasser.\n".encode() * 10_000
    assert recognise(text[:200_001], "NEWS", "", 200_000) == (text[:200_001], ".txt", None)


@pytest.mark.parametrize("suffix", ["md", "eml", "html", "MD"])
def test_a_packed_file_is_what_is_inside(suffix: str) -> None:
    path, data = f"d/notes.{suffix}.gz", gzip.compress(MAIL, mtime=0) + gzip.compress(b"more", mtime=0)
    assert kind_of_packed(path) == f".{suffix}"
    assert recognise(data, path, f".{suffix}", MOST) == (MAIL + b"more", f".{suffix}", None)


@pytest.mark.parametrize(
    ("path", "told", "data", "expected"),
    [
        ("changelog.gz", "", b"* Text\n", ".txt"),
        ("inbox.gz", "", MAILBOX, ".mbox"),
        ("x.txt.gz", ".txt", RST, ".rst"),
        ("x.txt.gz", ".txt", b"plain", ".txt"),
        ("tool.gz", "", b"\0\1", ""),
    ],
)
def test_a_packed_file_is_told_by_what_is_inside(path: str, told: str, data: bytes, expected: str) -> None:
    assert recognise(gzip.compress(data, mtime=0), path, told, MOST) == (data, expected, None)


@pytest.mark.parametrize("path", ["a.zip.gz", "a.gz.gz", "a.gz", ".gz", "a.md"])
def test_no_suffix_is_inside_another_name(path: str) -> None:
    assert kind_of_packed(path) == ""


def test_a_file_that_is_not_packed_is_read_as_it_is() -> None:
    assert recognise(b"# Unpacked by a server\n", "a.md.gz", ".md", MOST) == (b"# Unpacked by a server\n", ".md", None)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (gzip.compress(bytes(9_000_000), mtime=0), "larger than documents.max_bytes = 10000 when it is unpacked"),
        (gzip.compress(b"x" * 10_001, mtime=0), "larger than documents.max_bytes = 10000 when it is unpacked"),
        (gzip.compress(b"x" * 5000, mtime=0)[:-9], "damaged or cut short; copy the file again, or pack it again"),
        (
            gzip.compress(b"x" * 50, mtime=0)[:12] + b"\xff" * 30,
            "damaged or cut short; copy the file again, or pack it again",
        ),
    ],
    ids=["bomb", "large", "cut", "damaged"],
)
def test_a_bomb_or_a_damaged_file_has_a_reason(data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableError, match=reason):
        recognise(data, "a.md.gz", ".md", MOST)
    assert len(recognise(gzip.compress(b"x" * 10_000, mtime=0), "a.md.gz", ".md", MOST)[0]) == MOST


@pytest.mark.parametrize("members", [1, 2])
@pytest.mark.parametrize(("rest", "is_told"), [(b"", False), (bytes(512), False), (b"rest", True), (b"\0\0PK", True)])
def test_what_is_behind_a_packed_file_is_left_out_as_gzip_does(members: int, rest: bytes, is_told: bool) -> None:
    data, note = (
        gzip.compress(b"# Levels\n", mtime=0) * members + rest,
        "bytes behind what is packed by gzip are left out",
    )
    assert recognise(data, "a.md.gz", ".md", MOST) == (b"# Levels\n" * members, ".md", note if is_told else None)


@pytest.mark.parametrize(
    "text",
    [
        RST,
        "Überblick\r\n=========\r\n\r\n.. _ziel:\r\n\r\nSiehe :ref:`ziel`.\r\n".encode(),
        b"Text of :class:`Weir`, :func:`open` and :py:meth:`close`, without a title.\n",
        b"====\nWeir\n====\n\n.. code-block:: python\n\n   close()\n",
        b"Name\n----\n\n.. |logo| image:: logo.png\n",
    ],
)
def test_restructuredtext_under_the_suffix_of_text_is_read_as_such(text: bytes) -> None:
    assert kind(text, "a/guide.txt") == ".rst"
    assert kind(text, "guide.txt", ".txt") == ".txt"  # as the settings say
    assert kind(text, "guide.log") == ""


@pytest.mark.parametrize(
    "text",
    [
        b"Minutes\n=======\n\nThe board met.\n\nNext steps\n----------\n\n* one ... two :: three\n",
        b"See .. note:: in a line.\n\nTitle\n=====\n\nText ``code`` and `quoted` words: fine.\n",
        b"Example\n=======\n\n    .. note:: quoted from a guide\n",
        b"A single line says\n.. note:: and no more\n",
        b"key: value\n.. and so on\n...\n----\n",
        b"Long title here\n===\n.. note:: the line under it is shorter\n",
    ],
)
def test_other_text_stays_as_it_is(text: bytes) -> None:
    assert kind(text, "minutes.txt") == ""


@pytest.mark.parametrize(
    "hostile",
    [b"<!---->" * 30_000, b"A" + b" " * 300_000 + b"\n" + b"=" * 300_000, b":a" * 100_000, b"From " + b"1:11" * 50_000],
)
def test_hostile_content_is_told_in_time(hostile: bytes) -> None:
    assert recognise(hostile, "name", "", 1_000_000)[1] == ".txt"
