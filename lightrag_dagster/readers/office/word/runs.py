"""Text runs of a Word part that mammoth drops or garbles: fields, symbols, ruby, hidden text."""

import re
from collections.abc import Iterator, Set

from lxml import etree
from mammoth.docx.dingbats import dingbats

from lightrag_dagster.readers.office.word.marks import without_marks
from lightrag_dagster.readers.office.word.styles import WordStyles
from lightrag_dagster.readers.office.word.xml import R, W, all_of, find, name_of, new, number, remove, replace, value

_WRAPPERS = ("fldSimple", "bdo", "dir")
_HYPERLINK = re.compile(r'(\s*HYPERLINK\s+(?:\\l\s+)?"[^"]*").*', re.DOTALL)
_PRIVATE = re.compile("[\uf020-\uf0ff]")
_RAISED = 4  # half points above the line, where people raise a number by hand
_DRAWN = 0xF000  # where fonts of symbols have their characters
_IN_FIELDS = (
    *("fldChar", "instrText", "t", "tab", "br", "cr", "sym", "noBreakHyphen", "ptab", "drawing", "pict", "object"),
    *("footnoteReference", "endnoteReference"),
)


def tidy_runs(root: etree._Element, styles: WordStyles) -> list[str]:
    """Make usual runs of what mammoth does not know, and return what is left out: the reading beside ruby."""
    left_out = []
    for named in all_of(root, "rStyle"):
        properties = named.getparent()
        shift = styles.raises(properties.getparent()) if properties is not None else None
        if shift and find(properties, "vertAlign") is None:
            properties.append(new("vertAlign", val=shift))
    for moved in all_of(root, "position"):
        properties = moved.getparent()
        if properties is not None and find(properties, "vertAlign") is None and _is_raised(moved.get(f"{W}val")):
            properties.append(new("vertAlign", val="superscript"))
    for text in all_of(root, "t"):
        text.text = without_marks(text.text or "")
        if _PRIVATE.search(text.text):
            fonts = find(text.getparent(), "rPr/rFonts")
            font = fonts.get(f"{W}ascii") if fonts is not None else None
            text.text = "".join(as_sign(one, font) if _PRIVATE.match(one) else one for one in text.text)
    for wrapper in all_of(root, *_WRAPPERS):
        replace(wrapper, wrapper)
    for ruby in all_of(root, "ruby"):
        left_out += ["".join(one.itertext()) for one in ruby.iterfind(f"{W}rt")]
        replace(ruby, [run for base in ruby.iterfind(f"{W}rubyBase") for run in base])
    for symbol in all_of(root, "sym"):
        _write_symbol(symbol)
    for hyphen in all_of(root, "noBreakHyphen"):
        replace(hyphen, new("r", "-"))
    for line in all_of(root, "br", "cr"):
        line.tag = f"{W}br"
        line.attrib.clear()  # mammoth passes over the end of a page or column, and the words beside it would be one
    for tab in all_of(root, "ptab"):
        tab.tag = f"{W}tab"
    for instruction in all_of(root, "instrText"):
        instruction.text = _HYPERLINK.sub(r"\1", instruction.text or "")  # mammoth takes its options for the address
    for begin in all_of(root, "fldChar"):
        _write_choice(begin)
    return left_out


def _is_raised(half_points: str | None) -> bool:
    return (number(half_points) or 0) >= _RAISED


def _write_symbol(symbol: etree._Element) -> None:
    """Keep a symbol that mammoth has a sign for; one of a usual font is its character."""
    font, code = symbol.get(f"{W}font"), symbol.get(f"{W}char") or ""
    place = int(code, 16) if re.fullmatch("[0-9A-Fa-f]{1,5}", code) else 0
    if (font, place) in dingbats or (font, place - _DRAWN) in dingbats:
        return
    is_character = place >= 0x20 and not _DRAWN <= place <= 0xF8FF
    replace(symbol, [new("r", chr(place))] if is_character else [])


def as_sign(character: str, font: str | None) -> str:
    """Return the sign that a font of symbols shows for a character, else the character."""
    return chr(dingbats.get((font, ord(character) % _DRAWN), ord(character)))


def _write_choice(begin: etree._Element) -> None:
    """Write what a drop-down field of a form shows: Word keeps only its number."""
    choices = find(begin, "ffData/ddList")
    run = begin.getparent()
    if choices is None or run is None or _has_result(run):
        return
    entries = [one.get(f"{W}val") or "" for one in choices.iterfind(f"{W}listEntry")]
    chosen = number(value(choices, "result") or value(choices, "default")) or 0
    if chosen < len(entries):
        run.addprevious(new("r", entries[chosen]))


def _has_result(run: etree._Element) -> bool:
    """Return True if a field that begins in a run has text up to its end."""
    for following in run.itersiblings(f"{W}r"):
        if find(following, "t") is not None:
            return True
        if any(one.get(f"{W}fldCharType") == "end" for one in following.iterfind(f"{W}fldChar")):
            return False
    return False


def drop_deleted(root: etree._Element) -> None:
    """Remove deleted and moved text and rows, marks of places, and references to what is not in the file."""
    for element in all_of(root, "del", "moveFrom"):
        parent = element.getparent()
        kind = name_of(parent) if parent is not None else ""
        if kind == "trPr":
            remove(parent.getparent())
        elif kind not in ("rPr", "numPr"):  # there they concern the end of a paragraph, and its number
            remove(element)
    for mark in all_of(root, "bookmarkStart", "bookmarkEnd", "proofErr"):
        remove(mark)  # between rows of a table, mammoth would no longer see its joined cells


def drop_instructions(root: etree._Element) -> None:
    """Remove what fields have before their results, such as the results of fields in them: Word does not show it.

    A field that does not end, and has no result, keeps it.
    """
    starts, open_ = list[int | None](), 0  # of each field, where its part of `waiting` begins; None in its result
    waiting, dropped = list[etree._Element](), list[etree._Element]()
    for element in all_of(root, *_IN_FIELDS):
        kind = element.get(f"{W}fldCharType")
        if kind in ("separate", "end"):
            start = starts.pop() if starts else None
            if start is not None:
                open_ -= 1
                dropped += waiting[start:]
                del waiting[start:]
            if kind == "separate":
                starts.append(None)
        if open_ > (element.tag == f"{W}instrText"):
            waiting.append(element)
        if kind == "begin":
            starts.append(len(waiting))
            open_ += 1
    for element in dropped:
        remove(element)


def drop_hidden(root: etree._Element, styles: WordStyles) -> list[str]:
    """Remove text that is not shown, also rows and drawings, and return it."""
    hidden = [row for row in all_of(root, "tr") if find(row, "trPr/hidden") is not None]
    hidden += [one for one in all_of(root, "drawing") if one.find("*/{*}docPr[@hidden='1']") is not None]
    if styles.has_hidden() or next(root.iter(f"{W}vanish"), None) is not None:
        for run in all_of(root, "r"):
            if styles.is_hidden(run, next(run.iterancestors(f"{W}p"), None)):
                hidden.append(run)
    texts = ["".join(one.text or "" for one in element.iter(f"{W}t")) for element in hidden]
    for element in hidden:
        remove(element)
    return list(filter(None, texts))


def drop_broken_references(root: etree._Element, known: Set[str], notes: Set[tuple[str, str]]) -> None:
    """Remove references to what is not in the file, on which mammoth would give up the whole file.

    Args:
        root: The root of a part.
        known: The identifiers of its relationships.
        notes: The kind and number of the notes that there are.
    """
    for element in root.iter(f"{W}hyperlink", "{*}blip", "{*}imagedata", "{*}hlinkClick"):
        for name in ("id", "embed", "link"):
            if element.get(f"{R}{name}") is not None and element.get(f"{R}{name}") not in known:
                del element.attrib[f"{R}{name}"]
    for reference in all_of(root, "commentReference"):
        remove(reference)  # comments are written apart
    for reference in all_of(root, "footnoteReference", "endnoteReference"):
        if (name_of(reference).removesuffix("Reference"), reference.get(f"{W}id") or "") not in notes:
            remove(reference)


def note_keys(root: etree._Element) -> Iterator[tuple[str, str]]:
    """Yield the kind and number of the notes in a part."""
    for note in root.iter(f"{W}footnote", f"{W}endnote"):
        yield name_of(note), note.get(f"{W}id") or ""
