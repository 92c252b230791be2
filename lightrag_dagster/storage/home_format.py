"""The format of a home: a number in its record `FORMAT`, by which a package tells whether it can use the home.

A home without the record has format 1. A builder brings an older home forward; everything else that opens a home
refuses an older one, unless it can be read as it is, and everything refuses a newer one, or one that `restore` has not
finished.

Format 2 has vectors of half precision, and in a bucket compressed arrays and graphs.
"""

from collections.abc import Callable, Mapping
from uuid import uuid4

from pydantic import ConfigDict, Field

from lightrag_dagster.errors import OlderFormatError, StoreError
from lightrag_dagster.storage.files import atomic
from lightrag_dagster.storage.home import Home
from lightrag_dagster.storage.records import Record, read_record

FIRST = 1

Migrations = Mapping[int, Callable[[Home], None] | None]

MIGRATIONS: dict[int, Callable[[Home], None] | None] = {2: None}
"""Format → what makes a home of the format before it one of this format; it is repeated when it was killed.

None where the format before is read as it is, so that the number only keeps older packages away.
"""


class Format(Record):
    """`FORMAT`. A newer package may write more into it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    format: int = Field(ge=FIRST)
    id: str | None = None
    """The home itself, also after it was moved or restored elsewhere; one that an older package wrote has none yet."""

    copying: str | None = None
    """The place the files come from, while they are being copied here."""


def newest(migrations: Migrations = MIGRATIONS) -> int:
    """Return the format that this package reads and writes."""
    return max(migrations, default=FIRST)


def require_readable(home: Home, migrations: Migrations = MIGRATIONS) -> None:
    """Check that a home has the format of this package, or is new.

    Raises:
        OlderFormatError: it is older; the next builder brings it forward.
        StoreError: it is newer, a `restore` of it was not finished, or the record is damaged.
    """
    found = _record(home, migrations)
    number, wanted = found.format if found else FIRST, newest(migrations)
    needed = any(migrations[following] for following in range(number + 1, wanted + 1))
    if needed and not (found is None and _is_new(home)):
        raise OlderFormatError(
            f"{home.name} has format {number}, and this package reads format {wanted}; "
            "`lightrag-dagster run` brings it forward"
        )


def refresh(home: Home) -> None:
    """Take over the records of a bucket, unless this process is writing, and check the format of the home.

    Raises:
        OlderFormatError: the home is older than this package; the next builder brings it forward.
        StoreError: it is newer, or the bucket refuses.
    """
    home.files.take_over()
    require_readable(home)


def begin(home: Home, migrations: Migrations = MIGRATIONS) -> None:
    """Give a new home today's format, and check any other; raises as `require_readable`. For writers without a lock."""
    require_readable(home, migrations)
    if not home.format.exists() and _is_new(home):
        _write(home, newest(migrations), uuid4().hex)


def bring_forward(home: Home, migrations: Migrations = MIGRATIONS) -> bool:
    """Migrate a home to the current format, give it an id, and say whether that changed it, under the builder's lock.

    Raises:
        StoreError: it is newer, a `restore` of it was not finished, the record is damaged, or the disk refuses.
    """
    found, wanted = _record(home, migrations), newest(migrations)
    number = found.format if found else wanted if _is_new(home) else FIRST
    identity = (found and found.id) or uuid4().hex
    for following in range(number + 1, wanted + 1):
        if migrate := migrations[following]:
            migrate(home)
        _write(home, following, identity)
    changed = found is None or found.id is None or number < wanted
    if changed and number == wanted:
        _write(home, wanted, identity)
    return changed


def identity(home: Home) -> str | None:
    """Return the id of a home; None before its first builder. Raises StoreError as `require_readable`."""
    found = _record(home, MIGRATIONS)
    return found.id if found else None


def require_not_newer(found: Format, name: str, migrations: Migrations = MIGRATIONS) -> None:
    """Check that this package knows a format; raises StoreError with the `name` of what has it."""
    if found.format > newest(migrations):
        raise StoreError(
            f"{name} has format {found.format}, and this package reads formats up to {newest(migrations)}; upgrade "
            "lightrag-dagster here, as on the machine that wrote it"
        )


def _record(home: Home, migrations: Migrations) -> Format | None:
    found = read_record(home.format, Format)
    if found is not None:
        require_not_newer(found, home.name, migrations)
        if found.copying is not None:
            raise StoreError(
                f"the restore of {home.name} was not finished; run `lightrag-dagster restore {found.copying}` again"
            )
    return found


def _is_new(home: Home) -> bool:
    """Say whether nothing was ever written; folders may be there."""
    patterns = ("CURRENT", "tables/*/*/*.json", "generations/gen-*", "accepted/*.json")
    return not any(path for pattern in patterns for path in home.root.glob(pattern))


def _write(home: Home, number: int, identity: str) -> None:
    atomic.write_text(home.format, Format(format=number, id=identity).model_dump_json(exclude_none=True))
