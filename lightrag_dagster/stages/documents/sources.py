"""Sources: the sub-folders of one folder, and places named in `lightrag.yaml`."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote

from lightrag_dagster.core.text.composed import composed, stored_name
from lightrag_dagster.core.text.counted import some_of
from lightrag_dagster.core.text.sanitise import visible
from lightrag_dagster.curation.rules import CURATION
from lightrag_dagster.errors import SourceError, StoreError, one_line
from lightrag_dagster.settings import Settings, SourceSettings
from lightrag_dagster.stages.documents.connectors.factory import choose_origin, files_on_disk
from lightrag_dagster.stages.documents.connectors.folder import LocalFolder
from lightrag_dagster.stages.documents.connectors.origin import UNFIT_CHARACTERS, ListedFile, Origin, shown
from lightrag_dagster.stages.documents.connectors.partitions import Partitioned
from lightrag_dagster.stages.documents.kinds import Kinds, kinds_of
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.tables.upstream import known_partitions

# A source name is a Dagster partition key, where "..." is a range, and a percent-encoded file name.
_RANGE = "..."
_MAX_ENCODED_NAME = 200


@dataclass(frozen=True)
class Source:
    """A named collection of documents: its connector, suffixes by which files are read that match a glob, and `mask`.

    That is the dotted path of a function that masks the texts.
    """

    name: str
    origin: Origin
    kinds: Kinds = ()
    mask: str | None = None
    access: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Unusable:
    """A source with unusable settings; listing it raises the reason."""

    name: str
    reason: str
    at_once: ClassVar[int] = 1

    def files(self) -> Iterator[ListedFile]:
        """Raise SourceError."""
        raise SourceError(self.reason)

    def read(self, listed: ListedFile, most: int) -> bytes:
        """Raise SourceError."""
        raise SourceError(self.reason)


def find_sources(settings: Settings) -> dict[str, Source]:
    """Return every source by name, in order of name; a missing or unusable one raises when it is listed.

    Raises:
        SourceError: the folder of sources is missing or cannot be listed.
    """
    return {name: source for name, source in _all_sources(settings).items() if why_misnamed(source) is None}


def misnamed_sources(settings: Settings) -> dict[str, str]:
    """Return name → reason of the folders and named sources whose name cannot be a partition key; raises SourceError.

    They are not sources until they are renamed. Characters of the names that cannot be shown are escaped.
    """
    found = _all_sources(settings).items()
    return {repr(name)[1:-1]: reason for name, source in found if (reason := why_misnamed(source))}


def loose_files(settings: Settings) -> list[str]:
    """Return the names of files next to the folders of sources, in none of them; raises as `find_sources`."""
    return sorted(shown(entry.name) for entry in _entries(settings) if not _is_folder(entry))


def chosen_sources(settings: Settings, names: Sequence[str], found: Mapping[str, Source] | None = None) -> list[Source]:
    """Return those of these names among the sources found, or all when none is named; accents may be composed or not.

    Raises:
        SourceError: as `find_sources`; none is configured, or a name is not one. In `extraction.methods`, an earlier
            source of the home counts as well, since it may be missing for a while.
    """
    found = find_sources(settings) if found is None else found
    misnamed = misnamed_sources(settings)
    names = [stored_name(name, found) for name in names]
    if refused := [misnamed[name] for name in names or ([] if found else misnamed) if name in misnamed]:
        raise SourceError("; ".join(refused))
    earlier = {Home.source_of(folder) for folder in Home.of(settings).root.glob("tables/raw_documents/*")}
    known_methods = {composed(name) for name in earlier | set(found)}
    places = ("", names, set(found)), ("extraction.methods: ", settings.extraction.methods, known_methods)
    for where, named, known in places:
        if unknown := sorted(set(named) - known):
            raise SourceError(f"{where}no such source: {', '.join(unknown)}; there are {some_of([*found]) or 'none'}")
    if not found:
        raise SourceError(f"{settings.sources} holds no source; make a folder in it for each source, with documents")
    return [source for name, source in found.items() if not names or name in names]


def find_source(settings: Settings, name: str) -> Source:
    """Return one source, without a look at the others if its name is exact; raises as `chosen_sources`."""
    found = [_exact(settings, one) for one in (name, *settings.extraction.methods)]
    return found[0] if found[0] and all(found) else chosen_sources(settings, [name])[0]


def _exact(settings: Settings, name: str) -> Source | None:
    folder = _is_folder(settings.sources / name)
    files = _named_files(settings)
    source = _source(settings, name, files, folder=folder) if folder or name in settings.named_sources else None
    return source if source and not why_misnamed(source) else None


def _all_sources(settings: Settings) -> dict[str, Source]:
    folders = {entry.name for entry in _entries(settings) if _is_folder(entry)}
    names = sorted(folders | settings.named_sources.keys())
    files = _named_files(settings)
    return {name: _source(settings, name, files, folder=name in folders) for name in names}


def _source(settings: Settings, name: str, files: Mapping[str, LocalFolder], *, folder: bool) -> Source:
    """Return the source of a name that the settings have, or a `folder`, or both; `files` are those of named ones."""
    named = settings.named_sources.get(name)
    own = _inside(settings.sources / name, settings.sources, {} if named else files)
    if named is None:
        return Source(name, own)
    origin, kinds = _named_origin(settings, name, named)
    if folder and isinstance(own, LocalFolder):
        reason = f"source {name!r} is both a folder in {settings.sources} and a named source; move the folder"
        origin = Unusable(origin.name, reason)
    return Source(name, origin, kinds, named.mask, {} if named.rows else named.access)


def _named_origin(settings: Settings, name: str, named: SourceSettings) -> tuple[Origin, Kinds]:
    """Return the connector of a named source, or one that raises, and its types; an error costs no other source."""
    try:
        kinds = kinds_of(name, named.types)
        if named.asset and named.dimensions:
            known = known_partitions(Home.of(settings), name, named.asset, named.dimensions - {""})
            return Partitioned(name, named, known), kinds
        return choose_origin(name, named), kinds
    except (SourceError, StoreError) as error:
        return Unusable(named.uri, str(error)), ()
    except (OSError, ValueError) as error:  # a path on a disk that does not answer, a URI that cannot be parsed
        return Unusable(named.uri, f"source {name!r}: {named.uri} cannot be used: {one_line(error)}"), ()


def _entries(settings: Settings) -> list[Path]:
    folder = settings.sources
    if settings.named_sources and "sources" not in settings.model_fields_set and not folder.exists():
        return []
    try:
        return [entry for entry in folder.iterdir() if not entry.name.startswith(".")]
    except OSError as error:
        raise SourceError(
            f"the folder of sources {str(folder)!r} cannot be listed: {error.strerror}; create it with one sub-folder "
            "a source, or set LIGHTRAG_SOURCES"
        ) from error


def _is_folder(entry: Path) -> bool:
    """Return True if an entry is a folder, or cannot be checked, so that listing it raises the reason."""
    try:
        return entry.is_dir()
    except OSError:
        return True


def _named_files(settings: Settings) -> dict[str, LocalFolder]:
    """Return the files of this machine that named sources protect, those whose place can be told."""
    found = {}
    for name, named in settings.named_sources.items():
        with suppress(SourceError, OSError, RuntimeError, ValueError):  # which listing it says
            if (named.mask or named.exclude or named.access) and (files := files_on_disk(name, named)):
                found[name] = replace(files, root=files.root.resolve())
    return found


def _inside(folder: Path, sources: Path, files: Mapping[str, LocalFolder]) -> Origin:
    """Return the connector of a folder, or one that raises for a link out, or if a named source has `files` in it.

    These are masked there, say, and would be read without that too.
    """
    try:
        real = folder.resolve()
        leads_out = folder.is_symlink() and not real.is_relative_to(sources.resolve())
        taken = next((name for name, named in files.items() if named.reaches(real)), None)
    except (OSError, ValueError) as error:  # a name with a null byte
        return Unusable(str(folder), f"source {folder.name!r}: {folder} cannot be used: {one_line(error)}")
    if leads_out:
        why = "is a link out of the folder of sources; if it is meant, name its target in named_sources"
    elif taken:
        why = f"is read by the named source {taken!r} too; move it out of {sources}, and name its new place there"
    else:
        return LocalFolder(folder)
    return Unusable(str(folder), f"source {folder.name!r}: {folder} {why}")


def why_misnamed(source: Source) -> str | None:
    """Return the reason why the name of a source cannot be a partition key; None if it can."""
    name = source.name
    if not name or name.startswith((".", "@")) or "/" in name or name != name.strip():
        reason = "may not be empty, start with a dot or @, hold a slash or have spaces around it"
    elif _RANGE in name or UNFIT_CHARACTERS.search(name) or visible(name) != name:
        reason = f"may not hold {_RANGE!r}, control characters, or those that are not seen"
    elif name == CURATION:
        reason = "may not be that of what people added by `curate add`"
    elif len(quote(name, safe="")) > _MAX_ENCODED_NAME:
        reason = f"may not be longer than {_MAX_ENCODED_NAME} bytes when percent-encoded"
    else:
        return None
    return f"source name {name!r} {reason}; rename the folder or source {source.origin.name!r}"
