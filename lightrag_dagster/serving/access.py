"""Tokens: who may ask, in which scope, how often, and for how many dollars a day.

Hashes of tokens are kept, never tokens, so a file of them opens nothing.
"""

import hmac
import os
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import yaml
from pydantic import BaseModel, Field, ValidationError, field_validator

from lightrag_dagster.errors import SettingsError
from lightrag_dagster.settings import LLMSettings
from lightrag_dagster.settings.unknown import first_fault
from lightrag_dagster.settings.yaml_files import lines_of, load_yaml, yaml_mistake
from lightrag_dagster.spending.account import Account

_VARIABLE = "SERVE_TOKENS"
"""Variable of the environment that may hold the text of a file of tokens."""


class Caller(BaseModel, extra="forbid", frozen=True):
    """One who asks: the owner of a token, or anyone where there are no tokens."""

    name: str = Field(pattern=r"^[\w.-]{1,64}$")
    scope: str | None = Field(default=None, pattern=r"^[a-z][a-z0-9_]{0,63}$")
    requests_a_minute: int | None = Field(default=None, ge=1)
    dollars_a_day: float | None = Field(default=None, ge=0)

    def account(self, settings: LLMSettings) -> Account | None:
        """Return the account of a caller with a limit of dollars, named by the token and the day in UTC.

        The ledger adds up what is spent, and no model is asked beyond, nor beyond the limits in the settings.
        """
        if self.dollars_a_day is None:
            return None
        of_all = Account.of(f"serve {self.name} {datetime.now(UTC).date().isoformat()}", "", settings)
        return replace(of_all, max_cost_usd=self.dollars_a_day)


class _TokenEntry(Caller, frozen=True):
    sha256: str = Field(pattern=r"^[0-9a-fA-F]{64}$")

    @field_validator("*", mode="before")
    @classmethod
    def _has_a_value(cls, given: object) -> object:
        if given is None:
            raise ValueError("it has no value; give one, or leave it out to set no bound")
        return given


class _TokenFile(BaseModel, extra="forbid"):
    tokens: list[_TokenEntry] = Field(min_length=1)


class Tokens:
    """The owners of tokens, by the hashes of these."""

    def __init__(self, text: str, place: str) -> None:
        """Read a list `tokens` in YAML or JSON; `place` is named in errors, which show no value.

        Raises:
            SettingsError: it cannot be read, is empty, or two entries share a name or a token.
        """
        try:
            entries = _TokenFile.model_validate(load_yaml(text) or {}).tokens
        except (yaml.YAMLError, ValidationError) as error:
            if isinstance(error, ValidationError):
                lines = lines_of(text, error.errors()[0]["loc"])
                fault = first_fault(error, _TokenFile)
            else:
                lines, fault = [], f"it is not YAML: {yaml_mistake(error)}"
            where = f"{place}, line {lines[-1]}" if lines else place
            raise SettingsError(f"{where}: {fault}; docs/serving.md shows a file of tokens") from None
        for field in ("name", "sha256"):
            if len({getattr(one, field).lower() for one in entries}) < len(entries):
                raise SettingsError(f"{place}: two tokens have the same {field}; give each its own")
        self.callers = {bytes.fromhex(one.sha256): Caller(**one.model_dump(exclude={"sha256"})) for one in entries}

    def caller(self, token: str) -> Caller | None:
        """Return the owner of a token, as a header has it; every hash is compared, each in the same time."""
        given = sha256(token.encode("latin-1", "replace")).digest()  # as its bytes were read
        found = [one for expected, one in self.callers.items() if hmac.compare_digest(expected, given)]
        return found[0] if found and token else None  # an empty token has no owner, even if its hash is in the file


def tokens_of(file: Path | None) -> Tokens | None:
    """Return the tokens of a file, else of the variable SERVE_TOKENS, else None; raises SettingsError."""
    if file is None:
        given = os.environ.get(_VARIABLE)
        return None if given is None else Tokens(given, _VARIABLE)  # an empty one is a mistake
    try:
        text = file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file} cannot be read ({type(error).__name__}); name a file of tokens") from None
    return Tokens(text, str(file))
