"""The connector for the settings of a source."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from posixpath import splitext
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from lightrag_dagster.errors import SourceError
from lightrag_dagster.readers import format_of
from lightrag_dagster.settings.sources import PARTITION, SIDECAR_SUFFIX, RowsSettings, SourceSettings, asks_beside
from lightrag_dagster.stages.documents.connectors.bucket import BUCKETS, Bucket
from lightrag_dagster.stages.documents.connectors.filesystem import FileSystem
from lightrag_dagster.stages.documents.connectors.folder import LocalFolder
from lightrag_dagster.stages.documents.connectors.hosts import WEB
from lightrag_dagster.stages.documents.connectors.installed import InstalledSource, is_installed
from lightrag_dagster.stages.documents.connectors.origin import Origin
from lightrag_dagster.stages.documents.connectors.patterns import Patterns, divide, has_wildcard
from lightrag_dagster.stages.documents.connectors.rows import RowDocuments
from lightrag_dagster.stages.documents.connectors.tables import ROW_FILES, DuckDBQuery, RowSource, SQLQuery, TableFiles
from lightrag_dagster.stages.documents.connectors.watermark import Watermarked
from lightrag_dagster.stages.documents.connectors.web import Web

_DUCKDB = (".duckdb", ".db", ".ddb")


def choose_origin(name: str, settings: SourceSettings, partition: Mapping[str, str] | None = None) -> Origin:
    """Return the place of a named source, or of a partition of it; nothing is asked of it yet.

    `partition` has the key of each dimension by its name, or the whole key under "", for the query.

    Raises:
        SourceError: the URI cannot be used, or does not fit the patterns.
    """
    if settings.rows:
        rows, table = settings.rows, _table(name, settings, settings.rows, partition or {})
        of = name, table, rows, settings.access
        return Watermarked(*of, rows.watermark, settings) if rows.watermark else RowDocuments(*of)
    origin = _place(name, settings)
    is_file = (
        (isinstance(origin, LocalFolder) and origin.root.is_file())
        or (isinstance(origin, Bucket) and origin.file)
        or (isinstance(origin, Web) and origin.required)
    )
    if is_file and (settings.exclude or "include" in settings.model_fields_set):
        raise SourceError(f"source {name!r} is one file; remove include and exclude, or name its folder in uri")
    return origin


def _place(name: str, settings: SourceSettings) -> Origin:
    uri = settings.uri
    patterns = _patterns(settings, settings.include)
    scheme = _scheme(settings.uri)
    if is_installed(scheme):
        return InstalledSource(uri, patterns)
    if scheme in WEB:
        return _on_the_web(name, uri, patterns, settings.follow_hosts)
    folder, glob = (uri, "") if scheme == "" and Path(uri).exists() else divide(uri)
    if glob and "include" in settings.model_fields_set:
        raise SourceError(f"source {name!r} has patterns in its uri and in include; give them in one of the two")
    if glob:
        patterns = _patterns(settings, (glob,))
    if scheme in ("", "file"):
        return LocalFolder(_local(name, folder), patterns)
    if scheme in BUCKETS:
        above, _, last = uri.rpartition("/")
        is_file = not glob and (format_of(last) or splitext(last)[1].lower() in ROW_FILES)
        return Bucket(above, file=unquote(last)) if is_file else Bucket(folder, patterns)
    return FileSystem(folder, patterns, settings.follow_hosts)


def files_on_disk(name: str, settings: SourceSettings) -> LocalFolder | None:
    """Return the files of this machine that a source reads, of an asset those of any partition; None for others.

    Raises SourceError as `choose_origin`.
    """
    files = settings.model_copy(update={"rows": None})
    if settings.dimensions:
        files = SourceSettings(uri=PARTITION.sub("*", settings.uri), exclude=settings.exclude)
    origin = choose_origin(name, files)
    return origin if isinstance(origin, LocalFolder) and origin.root.suffix not in _DUCKDB else None


def _patterns(settings: SourceSettings, include: tuple[str, ...]) -> Patterns:
    """Return the choice of paths, and of the files beside them that say who may see them."""
    ends = ("", SIDECAR_SUFFIX) if asks_beside(settings.access) else ("",)
    exclude = [one for glob in settings.exclude for one in _left_out(glob)]
    return Patterns(*(tuple(glob + end for end in ends for glob in globs) for globs in (include, exclude)))


def _left_out(glob: str) -> list[str]:
    """Return what a glob of `exclude` leaves out: files and folders of that name, `hr`, or folders alone, `hr/`."""
    name = glob.removeprefix("./").strip("/")
    if glob.endswith("/"):
        return [f"{name[:-1] if name.endswith('**') else name}/**/*"]  # the last ** may be no folder at all
    return [name, f"{name}/**/*"]


def _table(name: str, settings: SourceSettings, rows: RowsSettings, partition: Mapping[str, str]) -> RowSource:
    if settings.uri.startswith("$"):
        return SQLQuery(settings.uri[1:], _query(name, rows), partition)
    place = choose_origin(name, settings.model_copy(update={"rows": None}))
    if not isinstance(place, Bucket | LocalFolder):
        raise SourceError(
            f"source {name!r}: rows are read from this machine or a bucket, not from {place.name}; copy the files"
        )
    if isinstance(place, LocalFolder) and place.root.suffix in _DUCKDB:
        return DuckDBQuery(place.root, _query(name, rows), partition)
    if rows.query:
        raise SourceError(f"source {name!r}: rows.query is for a DuckDB file or a database, not for {place.name}")
    return TableFiles(place)


def _query(name: str, rows: RowsSettings) -> str:
    if not rows.query:
        raise SourceError(f"source {name!r} needs rows.query, such as: SELECT id, text FROM pages")
    return rows.query


def _scheme(uri: str) -> str:
    """Return the scheme of a URI; "" for a path, and all of a URI that leads through several file systems."""
    before, found, _ = uri.partition("://")
    return uri if "::" in uri else before.lower() if found else ""


def _local(name: str, uri: str) -> Path:
    with suppress(ValueError, RuntimeError):  # a bracket that is never closed, a home folder without a user
        parts = urlsplit(uri.replace("#", "%23"))
        if parts.scheme == "file" and parts.netloc in ("", "localhost"):
            return Path(url2pathname(parts.path))
        if "://" not in uri:
            return Path(uri).expanduser()
    raise SourceError(f"source {name!r}: {uri} is not on this machine; give a path or a file:/// URI")


def _on_the_web(name: str, uri: str, patterns: Patterns, follow_hosts: tuple[str, ...]) -> Web:
    above, _, last = uri.rpartition("/")
    if format_of(last) and not has_wildcard(last):
        return Web(above, (unquote(last),), follow_hosts=follow_hosts, required=True)
    if has_wildcard(uri) or any(map(has_wildcard, patterns.include)):
        raise SourceError(
            f"source {name!r}: a web server cannot be listed; name the files below {uri} in include, without wildcards"
        )
    return Web(uri.rstrip("/"), patterns.include, patterns, follow_hosts)
