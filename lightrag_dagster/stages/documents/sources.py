"""Sources: the sub-folders of one folder, and places named in `lightrag.yaml`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from lightrag_dagster.errors import SourceError
from lightrag_dagster.settings import Settings
from lightrag_dagster.stages.documents.origins.choice import choose_origin
from lightrag_dagster.stages.documents.origins.folder import Folder, LinkOut
from lightrag_dagster.stages.documents.origins.origin import UNFIT_CHARACTERS, Origin
from lightrag_dagster.storage.home import Home

# A source name is a Dagster partition key, where "..." is a range, and a percent-encoded file name.
_RANGE = "..."
_MAX_ENCODED_NAME = 200


@dataclass(frozen=True)
class Source:
    """A named collection of documents, and where they are."""

    name: str
    origin: Origin


def find_sources(settings: Settings) -> dict[str, Source]:
    """Return every source by name, in order of name; listing shows whether a folder exists.

    Raises:
        SourceError: the folder of sources is missing or cannot be listed, a name is used twice or cannot be a
            partition key, or a URI cannot be used.
    """
    found = {folder.name: Source(folder.name, _inside(folder, settings.sources)) for folder in _sub_folders(settings)}
    for name, named in settings.named_sources.items():
        if name in found and not isinstance(found[name].origin, LinkOut):
            raise SourceError(f"source {name!r} is both a folder in {settings.sources} and a named source; rename one")
        found[name] = Source(name, choose_origin(name, named))
    for source in found.values():
        _check_name(source)
    return {name: found[name] for name in sorted(found)}


def chosen_sources(settings: Settings, names: Sequence[str]) -> list[Source]:
    """Return the sources of these names, or all when none is named.

    Raises:
        SourceError: as `find_sources`; none is configured, or a name is not one. In `extraction.methods`, a source that
            the home knows from earlier counts as well, since it may be gone or away for a while.
    """
    found = find_sources(settings)
    earlier = {Home.source_of(folder) for folder in Home.of(settings).root.glob("tables/raw_documents/*")}
    places = ("", names, set(found)), ("extraction.methods: ", settings.extraction.methods, earlier | set(found))
    for where, named, known in places:
        if unknown := sorted(set(named) - known):
            raise SourceError(f"{where}no such source: {', '.join(unknown)}; there are {', '.join(found) or 'none'}")
    if not found:
        raise SourceError(f"{settings.sources} holds no source; make a folder in it for each source, with documents")
    return [source for name, source in found.items() if not names or name in names]


def find_source(settings: Settings, name: str) -> Source:
    """Return one source; raises as `chosen_sources`."""
    return chosen_sources(settings, [name])[0]


def _sub_folders(settings: Settings) -> list[Path]:
    folder = settings.sources
    if settings.named_sources and "sources" not in settings.model_fields_set and not folder.exists():
        return []
    try:
        return [entry for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith(".")]
    except OSError as error:
        raise SourceError(
            f"the folder of sources {folder} cannot be listed: {error.strerror}; create it with one sub-folder a "
            "source, or set LIGHTRAG_SOURCES"
        ) from error


def _inside(folder: Path, sources: Path) -> Origin:
    """Return the folder, or what refuses it because it is a link that leads out of the folder of sources."""
    if folder.is_symlink() and not folder.resolve().is_relative_to(sources.resolve()):
        return LinkOut(folder)
    return Folder(folder)


def _check_name(source: Source) -> None:
    name = source.name
    if not name or name.startswith(".") or "/" in name or name != name.strip():
        reason = "may not be empty, start with a dot, hold a slash or have spaces around it"
    elif _RANGE in name or UNFIT_CHARACTERS.search(name):
        reason = f"may not hold {_RANGE!r} or control characters"
    elif len(quote(name, safe="")) > _MAX_ENCODED_NAME:
        reason = f"may not be longer than {_MAX_ENCODED_NAME} bytes when percent-encoded"
    else:
        return
    raise SourceError(f"source name {name!r} {reason}; rename the folder or source {source.origin.name!r}")
