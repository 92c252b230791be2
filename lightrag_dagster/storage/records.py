"""Records: frozen JSON files, each written whole; and the pointers among them."""

import zlib
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    computed_field,
    model_validator,
)

from lightrag_dagster.errors import unread
from lightrag_dagster.storage.files import atomic


class Record(BaseModel):
    """A frozen JSON record."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    mended_by: ClassVar[str] = "delete it and run `lightrag-dagster run`"
    """The next step for a person whose record is damaged."""


class SummedRecord(Record):
    """A record that is written with a checksum, so that one with another bit is damaged."""

    @computed_field  # type: ignore[prop-decorator]  # mypy knows no decorated property
    @property
    def crc32(self) -> int:
        """A checksum of all else."""
        return zlib.crc32(self.model_dump_json(exclude={"crc32"}).encode())

    @model_validator(mode="wrap")
    @classmethod
    def _is_as_written(cls, values: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        written = values.pop("crc32", None) if isinstance(values, dict) else None
        found = handler(values)
        if written not in (None, found.crc32):
            raise ValueError("it is not as it was written")
        return found


R = TypeVar("R", bound=Record)


def read_record(path: Path, kind: type[R], extra: Literal["ignore"] | None = None) -> R | None:
    """Read a record, or None when the file does not exist; `extra` says to leave out what another version wrote more.

    Raises:
        StoreError: the file is damaged, or cannot be read.
    """
    try:
        return kind.model_validate_json(path.read_bytes(), extra=extra)
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise unread(path, error, kind.mended_by) from error


def write_record(path: Path, record: BaseModel) -> None:
    """Replace a record; raises as `atomic.write_text`."""
    atomic.write_text(path, record.model_dump_json(indent=2))


class Pointer(Record):
    """`PUBLISHED`, `HELD` and `NEWEST`: the generation that they point to."""

    mended_by = "`lightrag-dagster run` writes it again"

    id: str
    replaced: dict[str, str] = Field(
        default={}, description="In `PUBLISHED`: snapshot → when another replaced it; UTC, ISO 8601"
    )
