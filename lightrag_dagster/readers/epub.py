"""Books in EPUB: the chapters in reading order. The library for it is under the AGPL, so the few steps are here."""

import posixpath
import zipfile
from functools import partial
from urllib.parse import unquote

from lightrag_dagster.readers.chapter import Chapter
from lightrag_dagster.readers.content import Content, UnreadableError
from lightrag_dagster.readers.html.markup import to_markdown
from lightrag_dagster.readers.images.figures import Figures
from lightrag_dagster.readers.office.archive import DAMAGED, open_archive, parse_part, read_properties

_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"


def read(data: bytes, figures: Figures | None = None) -> Content:
    """Read the chapters of a book; their images are put into `figures`."""
    with open_archive(data, _CONTAINER) as archive:
        places = [place for place in parse_part(archive, _CONTAINER).xpath("//@full-path") if place]
        chapters = _chapters(archive, places[0]) if places and places[0] in archive.namelist() else []
        if _ENCRYPTION in archive.namelist():
            locked = {unquote(one) for one in parse_part(archive, _ENCRYPTION).xpath("//@URI")}
            if not chapters or locked & set(chapters):
                raise UnreadableError("protected by rights management (DRM); get a copy without it")
        if not chapters:
            raise UnreadableError(DAMAGED)
        texts, left_out = list[str](), list[str]()
        for name in chapters:
            chapter = Chapter(archive.read(name))
            figure_of = partial(_figure, archive, name, figures)
            texts.append(to_markdown(chapter.markup, xml=True, figure_of=figure_of).strip())
            left_out += chapter.left_out
        text = "\n\n".join(filter(None, texts))
        return Content(text, read_properties(archive, places[0]), left_out=tuple(left_out))


def _figure(archive: zipfile.ZipFile, chapter: str, figures: Figures | None, place: str) -> str | None:
    """Return the name of the figure that a chapter refers to."""
    part = posixpath.normpath(posixpath.join(posixpath.dirname(chapter), unquote(place)))
    return figures.name_of(archive.read(part)) if figures and part in archive.namelist() else None


def _chapters(archive: zipfile.ZipFile, package: str) -> list[str]:
    """Return the names of the parts to read, in order, without the table of contents."""
    root = parse_part(archive, package)
    folder = posixpath.dirname(package)
    listed = {one.get("id"): one for one in root.iterfind(".//{*}manifest/{*}item")}
    found = []
    for reference in root.iterfind(".//{*}spine/{*}itemref"):
        item = listed.get(reference.get("idref"))
        if item is not None and "nav" not in (item.get("properties") or "").split():
            found.append(posixpath.normpath(posixpath.join(folder, unquote(item.get("href") or ""))))
    return [name for name in found if name in set(archive.namelist())]
