"""Books in EPUB: the chapters in reading order. The library for it is under the AGPL, so the few steps are here."""

import posixpath
import zipfile
from functools import partial
from urllib.parse import unquote

from lxml import etree

from lightrag_dagster.readers.chapter import Chapter
from lightrag_dagster.readers.content import Content, UnreadableError, bounded
from lightrag_dagster.readers.html.markup import to_markdown
from lightrag_dagster.readers.images.figures import Figures
from lightrag_dagster.readers.office.archive import DAMAGED, open_archive, parse_part, read_properties

_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"


def read(data: bytes, figures: Figures | None = None) -> Content:
    """Read the chapters of a book; their images are put into `figures`."""
    with open_archive(data, _CONTAINER) as archive:
        places = [place for place in parse_part(archive, _CONTAINER).xpath("//@full-path") if place]
        names = chapters(archive, places[0]) if places and places[0] in archive.namelist() else []
        if _ENCRYPTION in archive.namelist():
            locked = {unquote(one) for one in parse_part(archive, _ENCRYPTION).xpath("//@URI")}
            if not names or locked & set(names):
                raise UnreadableError("protected by rights management (DRM); get a copy without it")
        if not names:
            raise UnreadableError(DAMAGED)
        texts, left_out, doubts = list[str](), list[str](), list[str]()
        contents = _contents(archive, places[0])
        contents = contents if set(names) - contents else set()
        for name in names:
            chapter = Chapter(archive.read(name))
            left_out += chapter.left_out
            doubts += [f"{name}: {chapter.note}"] if chapter.note else []
            if chapter.is_linked and name in contents:
                left_out.append(chapter.text)
                continue
            figure_of = partial(_figure, archive, name, figures)
            texts.append(to_markdown(chapter.markup, xml=True, figure_of=figure_of).strip())
        text = "\n\n".join(filter(None, texts))
        note = "; ".join(bounded(doubts)) or None
        return Content(text, read_properties(archive, places[0]), note=note, left_out=tuple(left_out))


def _figure(archive: zipfile.ZipFile, chapter: str, figures: Figures | None, place: str) -> str | None:
    """Return the name of the figure that a chapter refers to."""
    part = posixpath.normpath(posixpath.join(posixpath.dirname(chapter), unquote(place)))
    return figures.name_of(archive.read(part)) if figures and part in archive.namelist() else None


def chapters(archive: zipfile.ZipFile, package: str) -> list[str]:
    """Return the names of the parts to read, in order, without the table of contents for readers of EPUB 3."""
    root = parse_part(archive, package)
    listed = {one.get("id"): one for one in root.iterfind(".//{*}manifest/{*}item")}
    items = [listed.get(one.get("idref")) for one in root.iterfind(".//{*}spine/{*}itemref")]
    shown = [one for one in items if one is not None and "nav" not in (one.get("properties") or "").split()]
    names = [_name(package, one) for one in shown]
    return [name for name in names if name in set(archive.namelist())]


def _contents(archive: zipfile.ZipFile, package: str) -> set[str]:
    """Return the names of the parts that a book calls its table of contents."""
    found = parse_part(archive, package).iterfind(".//{*}guide/{*}reference[@type='toc']")
    return {_name(package, one) for one in found}


def _name(package: str, item: etree._Element) -> str:
    """Return the name of a part that the package of a book refers to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(package), unquote(item.get("href") or "")))
