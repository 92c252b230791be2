"""Tokens: who may ask, in which scope, how often, and for how many dollars a day.

Hashes of tokens are kept, never tokens, so a file of them opens nothing.
"""

import hmac
from hashlib import sha256
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lightrag_dagster.errors import SettingsError

VARIABLE = "SERVE_TOKENS"
"""Variable of the environment that may hold the text of a file of tokens."""


class Caller(BaseModel):
    """One who asks: the owner of a token, or anyone on this machine where there are no tokens."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1, max_length=64, pattern=r"^[\w.-]+$")
    scope: str | None = None
    requests_a_minute: int | None = Field(default=None, ge=1)
    dollars_a_day: float | None = Field(default=None, ge=0)


class _Entry(Caller):
    sha256: str = Field(pattern=r"^[0-9a-fA-F]{64}$")


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    tokens: list[_Entry] = Field(min_length=1)


class Tokens:
    """The owners of tokens, by the hashes of these."""

    def __init__(self, entries: list[_Entry]) -> None:
        """Take valid entries; `of` reads them."""
        self._callers = [(bytes.fromhex(one.sha256), Caller(**one.model_dump(exclude={"sha256"}))) for one in entries]

    @classmethod
    def of(cls, text: str, place: str) -> "Tokens":
        """Read a list `tokens` in YAML or JSON; `place` is named in errors, which show no value.

        Raises:
            SettingsError: it cannot be read, is empty, or two entries share a name or a token.
        """
        try:
            entries = _File.model_validate(yaml.safe_load(text)).tokens
        except yaml.YAMLError:
            raise SettingsError(f"{place} is not YAML; docs/serving.md shows a file of tokens") from None
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"])) or "tokens"
            raise SettingsError(f"{place}: {where}: {first['msg']}; docs/serving.md shows a file of tokens") from None
        for field in ("name", "sha256"):
            if len({getattr(one, field).lower() for one in entries}) < len(entries):
                raise SettingsError(f"{place}: two tokens have the same {field}; give each its own")
        return cls(entries)

    @classmethod
    def read(cls, file: Path) -> "Tokens":
        """Read a file; raises as `of`."""
        try:
            return cls.of(file.read_text(), str(file))
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"{file} cannot be read ({type(error).__name__}); name a file of tokens") from None

    @property
    def callers(self) -> list[Caller]:
        """Every owner of a token."""
        return [caller for _, caller in self._callers]

    def caller(self, token: str) -> Caller | None:
        """Return the owner of a token; every hash is compared, in the same time wherever they differ."""
        given, found = sha256(token.encode("utf-8", "surrogateescape")).digest(), None
        for expected, caller in self._callers:
            if hmac.compare_digest(expected, given):
                found = caller
        return found
