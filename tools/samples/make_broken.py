"""Sample files that are damaged or hostile, made from the good ones; `make.py` calls these."""

import io
import shutil
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path


def write_damaged(folder: Path) -> None:
    from msoffcrypto.format.ooxml import OOXMLFile

    damaged = folder / "damaged"
    damaged.mkdir(exist_ok=True)
    for suffix in ("docx", "pptx", "xlsx"):
        source = {"docx": "python-docx", "pptx": "python-pptx", "xlsx": "openpyxl"}[suffix]
        with (folder / f"{source}.{suffix}").open("rb") as plain, (damaged / f"encrypted.{suffix}").open("wb") as file:
            OOXMLFile(plain).encrypt("secret", file)
    shutil.move(folder / "encrypted.pdf", damaged / "encrypted.pdf")
    shutil.move(folder / "without-text.pdf", damaged / "without-text.pdf")
    scan = bytearray((folder / "scan.pdf").read_bytes())
    start = scan.index(b"/DCTDecode")
    scan[start + 2000 : start + 30_000] = b"0" * 28_000
    (damaged / "corrupt-image.pdf").write_bytes(scan)
    for suffix in ("pdf", "docx", "pptx", "xlsx", "odt", "rtf", "epub", "jpg", "png", "tiff", "webp"):
        source = min(path for path in folder.glob(f"[a-z]*.{suffix}") if path.stem != "figures")
        data = source.read_bytes()
        (damaged / f"truncated.{suffix}").write_bytes(data[: len(data) * 2 // 3])
        (damaged / f"zero-bytes.{suffix}").write_bytes(b"")
        (damaged / f"really-text.{suffix}").write_text("Not what the suffix says.\n", encoding="utf-8")
    with zipfile.ZipFile(damaged / "encrypted.odt", "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        archive.writestr("content.xml", zlib.compress(b"locked"))
        archive.writestr(
            "META-INF/manifest.xml",
            '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
            '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml">'
            '<manifest:encryption-data manifest:checksum-type="SHA1/1K" manifest:checksum="x"/>'
            "</manifest:file-entry></manifest:manifest>",
        )
    with zipfile.ZipFile(damaged / "encrypted.epub", "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr(
            "META-INF/encryption.xml",
            '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
            '<EncryptedData xmlns="http://www.w3.org/2001/04/xmlenc#"><CipherData><CipherReference URI="text/1.xhtml"/>'
            "</CipherData></EncryptedData></encryption>",
        )
        archive.writestr("META-INF/container.xml", "<container/>")


def _replace_member(source: Path, to: Path, name: str, change: Callable[[bytes], bytes]) -> None:
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            data = old.read(entry)
            new.writestr(entry, change(data) if entry.filename == name else data, zipfile.ZIP_DEFLATED)


def write_hostile(folder: Path) -> None:
    hostile = folder / "hostile"
    hostile.mkdir(exist_ok=True)
    bomb = b"<w:p><w:r><w:t>" + b"A" * 5_000_000 + b"</w:t></w:r></w:p>"
    entity = (
        b'<?xml version="1.0"?><!DOCTYPE d [<!ENTITY a "'
        + b"a" * 10_000
        + b'">'
        + b"".join(b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(9))
        + b"]>"
    )
    _replace_member(
        folder / "python-docx.docx",
        hostile / "inflates.docx",
        "word/document.xml",
        lambda data: data.replace(b"<w:body>", b"<w:body>" + bomb * 40),
    )
    _replace_member(
        folder / "python-docx.docx",
        hostile / "entities.docx",
        "word/document.xml",
        lambda data: (
            entity + data.split(b"?>", 1)[1].replace(b"<w:body>", b"<w:body><w:p><w:r><w:t>&j;</w:t></w:r></w:p>")
        ),
    )
    _replace_member(
        folder / "python-docx.docx",
        hostile / "outside.docx",
        "word/document.xml",
        lambda data: (
            b'<?xml version="1.0"?><!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
            + data.split(b"?>", 1)[1].replace(b"<w:body>", b"<w:body><w:p><w:r><w:t>&x;</w:t></w:r></w:p>")
        ),
    )
    _replace_member(
        folder / "odfdo.odt",
        hostile / "deep.odt",
        "content.xml",
        lambda data: data.replace(b"<office:text>", b"<office:text>" + b"<text:section>" * 100_000),
    )
    with zipfile.ZipFile(hostile / "many-entries.pptx", "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(300):
            archive.writestr(f"ppt/slides/slide{number}.xml", "")
    pages = 3000
    objects = [b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Count %d/Kids[%s]>>" % (pages, b"3 0 R " * pages)]
    objects += [b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>"]
    data, offsets = io.BytesIO(b"%PDF-1.4\n"), []
    data.seek(0, io.SEEK_END)
    for number, text in enumerate(objects, start=1):
        offsets.append(data.tell())
        data.write(b"%d 0 obj%s endobj\n" % (number, text))
    start = data.tell()
    data.write(b"xref\n0 4\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % one for one in offsets))
    data.write(b"trailer<</Size 4/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % start)
    (hostile / "many-pages.pdf").write_bytes(data.getvalue())
    stream = zlib.compress(b"BT (A) Tj ET " * 20_000_000, 9)
    packed = zlib.compress(stream, 9)
    (hostile / "inflates.pdf").write_bytes(
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Count 1/Kids[3 0 R]>>endobj\n"
        b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>endobj\n"
        b"4 0 obj<</Filter[/FlateDecode/FlateDecode]/Length "
        + str(len(packed)).encode()
        + b">>stream\n"
        + packed
        + b"\nendstream endobj\ntrailer<</Root 1 0 R>>"
    )
    write_image_bombs(hostile)
    (hostile / "deep.rtf").write_bytes(rb"{\rtf1 " + b"{" * 50_000 + b"A" + b"}" * 50_000 + b"}")
    (hostile / "binary.rtf").write_bytes(rb"{\rtf1 \bin999999999 A}")
    (hostile / "deep.eml").write_bytes(
        b"Subject: deep\r\n"
        + b"".join(b'Content-Type: multipart/mixed; boundary="%d"\r\n\r\n--%d\r\n' % (n, n) for n in range(2000))
    )
    outside = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="../../../etc/passwd"/></rootfiles></container>'
    )
    with zipfile.ZipFile(hostile / "outside.epub", "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr("META-INF/container.xml", outside)


def write_image_bombs(hostile: Path) -> None:
    """Write images of 50,000 × 50,000 black pixels: a PNG, and one in a PDF, which is 312 MB unpacked."""
    side = 50_000
    header = side.to_bytes(4, "big") * 2 + bytes((1, 0, 0, 0, 0))
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(bytes(side // 8 + 1) * 1000)), (b"IEND", b"")]
    (hostile / "huge.png").write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + b"".join(
            len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")
            for kind, data in chunks
        )
    )
    packed = zlib.compress(zlib.compress(bytes(side * side // 8), 9), 9)
    (hostile / "huge-image.pdf").write_bytes(
        b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Count 1/Kids[3 0 R]>>endobj\n"
        b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 5 0 R/Resources<</XObject<</A 4 0 R>>>>>>"
        b"endobj\n4 0 obj<</Type/XObject/Subtype/Image/Width 50000/Height 50000/BitsPerComponent 1"
        b"/ColorSpace/DeviceGray/Filter[/FlateDecode/FlateDecode]/Length "
        + str(len(packed)).encode()
        + b">>stream\n"
        + packed
        + b"\nendstream endobj\n5 0 obj<</Length 26>>stream\n600 0 0 800 0 0 cm /A Do  \nendstream endobj\n"
        b"trailer<</Root 1 0 R>>"
    )
