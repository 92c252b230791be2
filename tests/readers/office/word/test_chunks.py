import pytest

from lightrag_dagster.readers.extraction import extract_text
from tests.readers.office.word.documents import paragraph, read, word

PAGE = "<html><head><title>t</title></head><body><h2>News</h2><p>The weir opens.</p></body></html>"
WINDOWS = '<html><head><meta charset="iso-8859-1"></head><body><p>„5 €“ – übrig</p></body></html>'.encode("cp1252")
SAVED = b"MIME-Version: 1.0\nContent-Type: text/html; charset=iso-8859-1\nContent-Transfer-Encoding: 8bit\n\n" + WINDOWS
MAIL = (
    f"MIME-Version: 1.0\nContent-Type: multipart/related; boundary=x\n\n--x\nContent-Type: text/html\n\n{PAGE}\n--x--\n"
)


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("chunk.html", PAGE.encode(), "## News\n\nThe weir opens."),
        ("chunk.htm", ("\ufeff" + PAGE).encode("utf-16-le"), "## News\n\nThe weir opens."),
        ("chunk.mht", MAIL.encode(), "## News\n\nThe weir opens."),
        ("chunk.html", WINDOWS, "„5 €“ – übrig"),
        ("chunk.mht", SAVED, "„5 €“ – übrig"),
        ("chunk.txt", "Über das Wehr.\n\nEnde.".encode(), "Über das Wehr.\n\nEnde."),
        ("chunk.rtf", rb"{\rtf1\ansi The weir \'fcber all.\par}", "The weir über all."),
        ("chunk.docx", word(paragraph("The weir.") + paragraph("Its gate.")), "The weir.\n\nIts gate."),
    ],
)
def test_imported_documents_are_read_at_their_place(name: str, data: bytes, text: str) -> None:
    body = f'{paragraph("Before.")}<w:altChunk r:id="rId1"/>{paragraph("After.")}'
    assert read(body, parts={name: data}).text == f"Before.\n\n{text}\n\nAfter."


@pytest.mark.parametrize(
    ("part", "data"), [("chunk.docx", b"PK broken"), ("chunk.rtf", b"{\\rtf1 {"), ("other.html", None)]
)
def test_one_that_cannot_be_read_is_named(part: str, data: bytes | None) -> None:
    body = f'{paragraph("Before.")}<w:altChunk r:id="rId{1 if data else 9}"/>'
    found = extract_text(word(body, parts={part: data or b""}), "a.docx")
    assert found.text == "Before."
    assert found.note is not None
    assert found.note.startswith(f"an imported document, {part if data else 'unnamed'}, is left out: ")


def test_the_doubts_of_an_imported_document_are_those_of_the_file() -> None:
    body = paragraph("Before.") + "".join(f'<w:altChunk r:id="rId{number}"/>' for number in (1, 2))
    hidden = word(f"{paragraph('Shown.')}<w:p><w:r><w:rPr><w:vanish/></w:rPr><w:t>Two words</w:t></w:r></w:p>")
    commented = rb"{\rtf1 The gauge.{\*\annotation Is it?}}"
    found = extract_text(word(body, parts={"a.rtf": commented, "b.docx": hidden}), "a.docx")
    assert found.text == "Before.\n\nThe gauge.\n\nShown."
    assert found.note == "a.rtf: comments of reviewers are left out: 1; b.docx: hidden text is left out: 2 words"


def test_documents_in_each_other_end() -> None:
    data = word(paragraph("Deep."))
    for _ in range(6):
        data = word('<w:altChunk r:id="rId1"/>', parts={"chunk.docx": data})
    assert extract_text(data, "a.docx").text == ""
