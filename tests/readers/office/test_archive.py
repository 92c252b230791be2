"""Files in Office documents."""

import io
import zipfile

from lightrag_dagster.readers.extraction import extract_text
from tests.readers.office.word.documents import paragraph, word
from tests.readers.test_samples import SAMPLES

SAID = "2 of 2 attachments are not read: rows.xlsx, oleObject1.bin; save them as files of their own"


def with_files(data: bytes, folder: str) -> bytes:
    found = io.BytesIO(data)
    with zipfile.ZipFile(found, "a") as archive:
        for name in ("rows.xlsx", "oleObject1.bin", "behind.xlsx"):
            archive.writestr(f"{folder}/embeddings/{name}", b"a")
        archive.writestr(f"{folder}/charts/_rels/chart9.xml.rels", '<a><b Target="../embeddings/behind.xlsx"/></a>')
    return found.getvalue()


def test_files_in_a_document_are_named_and_tables_behind_charts_are_not() -> None:
    assert extract_text(with_files(word(paragraph("The weir")), "word"), "a.docx").note == SAID
    for name, folder in (("python-pptx.pptx", "ppt"), ("openpyxl.xlsx", "xl")):
        data = (SAMPLES / name).read_bytes()
        assert extract_text(data, name).note is None
        assert extract_text(with_files(data, folder), name).note == SAID
