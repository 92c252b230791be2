"""Word files made of the XML in a test."""

import io
import zipfile

from lightrag_dagster.readers.extraction import ExtractedText, extract_text

SPACES = " ".join(
    f'xmlns:{prefix}="{space}"'
    for prefix, space in {
        "w": "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "r": "http://schemas.openxmlformats.org/officeDocument/2006/relationships",
        "wp": "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing",
        "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
        "pic": "http://schemas.openxmlformats.org/drawingml/2006/picture",
        "c": "http://schemas.openxmlformats.org/drawingml/2006/chart",
        "dgm": "http://schemas.openxmlformats.org/drawingml/2006/diagram",
        "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
        "v": "urn:schemas-microsoft-com:vml",
        "w14": "http://schemas.microsoft.com/office/word/2010/wordml",
        "wps": "http://schemas.microsoft.com/office/word/2010/wordprocessingShape",
        "wpg": "http://schemas.microsoft.com/office/word/2010/wordprocessingGroup",
    }.items()
)
_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_MEDIA = "application/vnd.openxmlformats-officedocument.wordprocessingml"
_KINDS = {"document": "document.main", **{one: one for one in ("footnotes", "endnotes", "comments")}}


def paragraph(text: str, properties: str = "", run: str = "") -> str:
    """Return a paragraph of one run, with properties of both."""
    return (
        f'<w:p><w:pPr>{properties}</w:pPr><w:r><w:rPr>{run}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r></w:p>'
    )


def numbered(text: str, level: int = 0, name: int = 1) -> str:
    """Return a paragraph at a level of a list."""
    return paragraph(text, f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{name}"/></w:numPr>')


def levels(*said: tuple[str, str] | tuple[str, str, str], name: int = 1) -> str:
    """Return a list by the format, the text and more of each level."""
    inner = "".join(
        f'<w:lvl w:ilvl="{place}">{"".join(one[2:])}<w:numFmt w:val="{one[0]}"/><w:lvlText w:val="{one[1]}"/></w:lvl>'
        for place, one in enumerate(said)
    )
    return (
        f'<w:abstractNum w:abstractNumId="{name}">{inner}</w:abstractNum>'
        f'<w:num w:numId="{name}"><w:abstractNumId w:val="{name}"/></w:num>'
    )


def table(*rows: str) -> str:
    """Return a table of rows."""
    return f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in rows)}</w:tbl>"


def cell(content: str, properties: str = "") -> str:
    """Return a cell of a text or of paragraphs and tables."""
    inner = content if content.startswith("<") else paragraph(content)
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{inner}</w:tc>"


def word(body: str, *, main: str = "word/document.xml", parts: dict[str, str | bytes] | None = None) -> bytes:
    """Return a Word file with a body and other parts, by name; a part of XML is given by its content.

    Parts have the relationships `rId1`, `rId2` and so on, in their order.
    """
    given = parts or {}
    data = io.BytesIO()
    overrides, relations = "", ""
    with zipfile.ZipFile(data, "w") as archive:
        for place, (name, content) in enumerate(given.items(), start=1):
            kind = name.partition(".")[0].rstrip("0123456789")
            relations += f'<Relationship Id="rId{place}" Type="{_OFFICE}/{kind}" Target="{name}"/>'
            if isinstance(content, str) and name.endswith(".xml") and not content.startswith("<?"):
                content = f"<w:{kind} {SPACES}>{content}</w:{kind}>"
                overrides += f'<Override PartName="/word/{name}" ContentType="{_MEDIA}.{_KINDS.get(kind, kind)}+xml"/>'
            archive.writestr(f"word/{name}", content)
        archive.writestr(main, f"<w:document {SPACES}><w:body>{body}</w:body></w:document>")
        folder, _, name = main.rpartition("/")
        archive.writestr(
            f"{folder}/_rels/{name}.rels", f'<Relationships xmlns="{_RELATIONS}">{relations}</Relationships>'
        )
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{_RELATIONS}"><Relationship Id="rId1" Type="{_OFFICE}/officeDocument" '
            f'Target="/{main}"/></Relationships>',
        )
        archive.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{_TYPES}"><Default Extension="png" ContentType="image/png"/>'
            f'<Override PartName="/{main}" ContentType="{_MEDIA}.document.main+xml"/>{overrides}</Types>',
        )
    return data.getvalue()


def read(body: str, **options: object) -> ExtractedText:
    """Return what is read of a Word file with a body; all its words must be there."""
    found = extract_text(word(body, **options), "a.docx")  # type: ignore[arg-type]
    assert found.losses is not None
    assert found.losses.lost == 0, found.losses
    return found
