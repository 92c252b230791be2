"""The format of a home: its record `FORMAT`, by which a package tells whether it can use the home.

Everything that opens a home refuses one of another format or layout, or one that `restore` has not finished. The next
run takes over a home that is older, or of another layout: see `take_over`. No package takes over a newer format.
"""

import platform
from uuid import uuid4

from pydantic import ConfigDict, Field

from lightrag_dagster.errors import StoreError
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.layout import layout
from lightrag_dagster.storage.manifests import EmbedderRecord
from lightrag_dagster.storage.records import Record, read_record

FORMAT = 1


class Left(Record):
    """The embedder of the last snapshot of another layout, and its sequence: the next snapshot has the one after it."""

    embedder: EmbedderRecord
    sequence: int


class Format(Record):
    """`FORMAT`. A newer package may write more into it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    mended_by = (
        "put it back from a backup of this home; else delete it, and `lightrag-dagster run` removes all snapshots, "
        "also those with a name, and builds one again of the sources, stored answers and vectors, which stay"
    )

    format: int = Field(ge=1)
    layout: str | None = Field(default=None, description="Hash of the layout of its files")
    id: str | None = Field(default=None, description="The home itself, also after it was moved or restored elsewhere")
    left: Left | None = Field(default=None, description="Left by the last snapshot of another layout to the next")
    database: bool | None = Field(default=None, description="A Postgres database has its answers, ledger and locks")
    copying: str | None = Field(default=None, description="The place of its files, while they are being copied here")


def read(home: Home) -> Format | None:
    """Return the format of a home, or None of a new one.

    Raises:
        StoreError: it is newer, a backup, a `restore` of it was not finished, or the record is damaged.
    """
    found = read_record(home.format, Format)
    if found is None and home.bucket is None and (home.root / "records" / home.format.name).exists():
        raise StoreError(
            f"{home.name} is a backup; `lightrag-dagster --home PLACE restore {home.name}` makes a home of it"
        )
    if found is None:
        return None if _is_new(home) else Format(format=1)
    require_not_newer(found, home.name)
    if found.copying is not None:
        raise StoreError(
            f"the restore of {home.name} was not finished; run `lightrag-dagster restore {found.copying}` again"
        )
    return found


def write(home: Home, found: Format) -> None:
    """Write the format of a home; raises StoreError when the disk refuses."""
    atomic.write_text(home.format, found.model_dump_json(exclude_none=True))


def is_todays(found: Format | None) -> bool:
    """Say whether a home is new, or has the format and the layout of this package."""
    return found is None or (found.format, found.layout) == (FORMAT, layout())


def require_readable(home: Home) -> None:
    """Check that a home has the format and the layout of this package, or is new.

    Raises:
        StoreError: it has not, a `restore` of it was not finished, or the record is damaged.
    """
    if not is_todays(read(home)):
        raise StoreError(
            f"{home.name} has the layout of another version of this package; `lightrag-dagster run` takes it over"
        )


def refresh(home: Home) -> None:
    """Take over the records of a bucket, unless this process is writing, and check the format of the home.

    Raises:
        StoreError: as `require_readable`, or the bucket refuses.
    """
    home.files.refresh()
    require_readable(home)


def begin(home: Home) -> bool:
    """Give a new home a format and an id, check any other, and say whether it is new.

    Raises StoreError as `require_readable`, if its database is that of another home, and if its database is not named.
    """
    require_readable(home)
    found = read(home)
    now = found or Format(format=FORMAT, layout=layout(), id=uuid4().hex)
    if home.database and now.id and not home.scope:
        sign_database(home, now.id)
        now = now if home.bucket else now.model_copy(update={"database": True})  # which a bucket has in any case
    elif now.database and not home.database:
        raise StoreError(
            f"{home.name} has a Postgres database; set LIGHTRAG_DATABASE to its URL. `backup` with it, and `restore` "
            "without, make a home that needs none"
        )
    if now != found:
        write(home, now)
    return found is None


def sign_database(home: Home, home_id: str) -> None:
    """Sign the database of a home, if it has one, with an id; raises StoreError if it is that of another home."""
    from lightrag_dagster.storage.database.owner import sign

    if home.database:
        # Containers have the same folders; a bucket is one for all machines.
        sign(home.database, home_id, home.bucket or f"{platform.node()}:{home.root.absolute()}")


def home_id(home: Home) -> str | None:
    """Return the id of a home; None before its first builder. Raises StoreError as `read`."""
    found = read(home)
    return found.id if found else None


def left(home: Home) -> Left | None:
    """Return what the last snapshot of another layout leaves to the next; raises StoreError as `read`."""
    found = read(home)
    return found.left if found else None


def require_not_newer(found: Format, name: str) -> None:
    """Check that this package knows a format; raises StoreError with the `name` of what has it."""
    if found.format > FORMAT:
        raise StoreError(
            f"{name} has format {found.format}, and this package reads formats up to {FORMAT}; upgrade "
            "lightrag-dagster here, as on the machine that wrote it"
        )


def _is_new(home: Home) -> bool:
    """Say whether nothing was ever written; folders may be there."""
    patterns = ("PUBLISHED", "tables/*/*/*.json", "generations/gen-*", "accepted/*.json")
    return not any(path for pattern in patterns for path in home.root.glob(pattern))
