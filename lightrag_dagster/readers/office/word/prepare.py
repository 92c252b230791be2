"""A Word file as mammoth reads all of it: numbers, fields and choices as text, headings, text boxes, one version each.

mammoth knows the layout of usual documents; this puts the rest into that form, in one pass over the parts with text.
"""

import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from lxml import etree

from lightrag_dagster.readers.content import Content, UnreadableError
from lightrag_dagster.readers.inline import letters
from lightrag_dagster.readers.office.archive import RelatedPart, by_kind, relations, with_parts
from lightrag_dagster.readers.office.charts import chart_text, diagram_text
from lightrag_dagster.readers.office.office_formulas import write_runs
from lightrag_dagster.readers.office.word import paragraphs, runs, shapes
from lightrag_dagster.readers.office.word.chunks import read_chunk
from lightrag_dagster.readers.office.word.comments import write_comments
from lightrag_dagster.readers.office.word.marks import place
from lightrag_dagster.readers.office.word.numbering import WordNumbering
from lightrag_dagster.readers.office.word.styles import WordStyles
from lightrag_dagster.readers.office.word.xml import R, W, all_of, is_on, new_paragraph, parse, remove, replace, text_of


@dataclass
class PreparedPart:
    """A file for mammoth, and what goes past it: texts for places in its Markdown, comments, what was left out."""

    data: bytes = b""
    texts: list[str] = field(default_factory=list)
    comments: str = ""
    left_out: list[str] = field(default_factory=list)
    hidden: int = 0
    notes: list[str] = field(default_factory=list)


def prepare(archive: zipfile.ZipFile, read_word: Callable[[bytes], Content]) -> PreparedPart:
    """Return a Word file in the form that mammoth reads.

    Args:
        archive: The file.
        read_word: The reader of Word files that are imported into this one.

    Raises:
        UnreadableError: there is no document in it.
    """
    main = by_kind(relations(archive, "")).get("officeDocument", "word/document.xml")
    document = _part(archive, main)
    if document is None or document.tag != f"{W}document":
        raise UnreadableError("not what its suffix says: an archive without a Word document; give it its own suffix")
    names = by_kind(relations(archive, main))
    named = {kind: _name(archive, names, kind) for kind in ("styles", "numbering", "footnotes", "endnotes", "comments")}
    styles = WordStyles(_part(archive, named["styles"]))
    roots = {main: document} | {
        named[kind]: root for kind in ("footnotes", "endnotes") if (root := _part(archive, named[kind])) is not None
    }
    notes = {key for root in roots.values() for key in runs.note_keys(root)}
    prepared, parts = PreparedPart(), dict[str, bytes]()
    comments = _part(archive, named["comments"])
    for name, root in roots.items():
        shapes.choose_alternatives(root)
        runs.drop_deleted(root)
        if name == main:
            prepared.comments = _comments(comments, root, styles)
        _prepare(archive, name, root, styles, notes, prepared, read_word)
        paragraphs.write_outline(root, styles, WordNumbering(_part(archive, named["numbering"]), styles))
        parts[name] = etree.tostring(root, encoding="UTF-8")
    parts |= {named["styles"]: styles.names(), named["numbering"]: paragraphs.lists()}
    prepared.data = with_parts(archive, parts)
    return prepared


def _prepare(
    archive: zipfile.ZipFile,
    name: str,
    root: etree._Element,
    styles: WordStyles,
    notes: set[tuple[str, str]],
    prepared: PreparedPart,
    read_word: Callable[[bytes], Content],
) -> None:
    related = relations(archive, name)
    runs.drop_broken_references(root, related.keys(), notes)
    runs.drop_instructions(root)
    hidden = runs.drop_hidden(root, styles)
    prepared.hidden += sum(len(text.split()) for text in hidden)
    prepared.left_out += [*hidden, *_drop_placeholders(root, styles), *_drop_contents(root, styles)]
    prepared.left_out += runs.tidy_runs(root, styles)
    _strike_once(root)
    paragraphs.join_paragraphs(root)
    paragraphs.fill_rows(root)
    shapes.place_drawings(root, partial(_drawn, archive, related, prepared))
    write_runs(root)
    _import_chunks(archive, related, root, prepared, read_word)


def _drop_placeholders(root: etree._Element, styles: WordStyles) -> list[str]:
    """Remove what fields of a form show until they are filled, such as "Choose an item.", and return it.

    Programs that fill fields leave the mark of an empty one, so its text must look like a placeholder too.
    """
    shown = {one for one in all_of(root, "sdt") if is_on(one, "sdtPr/showingPlcHdr")}
    found = [run for run in all_of(root, "r") if shown and next(run.iterancestors(f"{W}sdt"), None) in shown]
    found = [run for run in found if styles.is_placeholder(run)]
    texts = ["".join(text.text or "" for text in run.iter(f"{W}t")) for run in found]
    for run in found:
        remove(run)
    return texts


def _drop_contents(root: etree._Element, styles: WordStyles) -> list[str]:
    """Remove entries of a table of contents that are headings too, and return them; fields end in their paragraphs."""
    entries = [one for one in all_of(root, "p") if styles.is_of_contents(one)]
    levels = ((one, styles.outline_level(one)) for one in all_of(root, "p") if entries)
    headings = {letters(text_of(one)) for one, level in levels if level is not None and level >= 0}
    entries = [one for one in entries if letters(text_of(one)) in headings - {""}]
    texts = [text_of(one) for one in entries]
    for run in (run for entry in entries for run in all_of(entry, "t", "tab")):
        remove(run)
    return texts


def _strike_once(root: etree._Element) -> None:
    """Write text that is struck out by two lines as by one, which mammoth knows."""
    for twice in all_of(root, "dstrike"):
        properties = twice.getparent()
        if is_on(properties, "dstrike"):
            for once in properties.findall(f"{W}strike"):
                remove(once)
            twice.tag = f"{W}strike"


def _comments(comments: etree._Element | None, document: etree._Element, styles: WordStyles) -> str:
    if comments is not None:
        runs.drop_deleted(comments)
        runs.drop_instructions(comments)
        runs.drop_hidden(comments, styles)
        runs.tidy_runs(comments, styles)
    return write_comments(comments, document)


def _drawn(
    archive: zipfile.ZipFile, related: dict[str, RelatedPart], prepared: PreparedPart, kind: str, relation: str
) -> str:
    """Return the place of the text of a chart or diagram; "" if it has none, or none in the file."""
    try:
        root = _part(archive, related[relation].part) if relation in related else None
    except etree.XMLSyntaxError:  # a broken chart costs only itself
        root = None
    text = "" if root is None else (chart_text if kind == "chart" else diagram_text)(root)
    return _place(prepared, text) if text else ""


def _import_chunks(
    archive: zipfile.ZipFile,
    related: dict[str, RelatedPart],
    root: etree._Element,
    prepared: PreparedPart,
    read_word: Callable[[bytes], Content],
) -> None:
    for chunk in all_of(root, "altChunk"):
        found = related.get(chunk.get(f"{R}id") or "")
        part = found.part if found else ""
        try:
            if part not in archive.namelist():
                raise UnreadableError("it is not in the file")
            content = read_chunk(archive.read(part), read_word)
        except (ValueError, LookupError, etree.LxmlError) as error:
            prepared.notes.append(f"an imported document, {part.rpartition('/')[2] or 'unnamed'}, is left out: {error}")
            remove(chunk)
            continue
        text = content.text if isinstance(content.text, str) else "\n\n".join(content.text)
        prepared.left_out += content.left_out
        prepared.notes += [f"{part.rpartition('/')[2]}: {content.note}"] if content.note else []
        replace(chunk, [new_paragraph(_place(prepared, text))])


def _place(prepared: PreparedPart, text: str) -> str:
    prepared.texts.append(text)
    return place(len(prepared.texts) - 1)


def _name(archive: zipfile.ZipFile, names: dict[str, str], kind: str) -> str:
    """Return the name of a part, which is the usual one unless the file says another, as mammoth has it."""
    return name if (name := names.get(kind, "")) in archive.namelist() else f"word/{kind}.xml"


def _part(archive: zipfile.ZipFile, name: str) -> etree._Element | None:
    return parse(archive.read(name)) if name in archive.namelist() else None
