"""Places of endpoints: an address, the key that goes there, and further headers."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

import httpx2

from lightrag_dagster.errors import ProviderAccessError
from lightrag_dagster.settings.models import PlaceSettings

OPENAI = "https://api.openai.com/v1"
_VARIABLE = re.compile(r"\$\{?(\w+)\}?")


@dataclass(frozen=True)
class Place:
    """The place of an endpoint.

    `setting` is what a person changes to move it, `variable` the environment variable with its key, empty if none is.
    """

    url: str
    setting: str
    variable: str
    headers: Mapping[str, str]

    @property
    def host(self) -> str:
        """Host and port, without the user and password that a URL may hold.

        Raises:
            ProviderAccessError: the address is not a URL.
        """
        try:
            url = httpx2.URL(self.url)
            usable = url.scheme in ("http", "https") and url.host and (url.port or 0) < 65536
        except httpx2.InvalidURL:
            usable = False
        if not usable:
            raise ProviderAccessError(f"{self.setting} is not a usable URL; it looks like http://localhost:8000/v1")
        return url.netloc.decode("ascii")

    def key(self) -> str:
        """Return the key, or nothing if no variable is named or it is unset.

        Raises:
            ProviderAccessError: it holds characters that no key has.
        """
        return _sendable(self.variable) if self.variable else ""

    def sent_headers(self) -> dict[str, str]:
        """Return the further headers, with `$NAME` replaced by what that environment variable holds.

        Raises:
            ProviderAccessError: a variable is not set, or holds characters that no header has.
        """

        def held(match: re.Match[str]) -> str:
            if value := _sendable(match[1]):
                return value
            raise ProviderAccessError(f"{match[1]} is not set, which a header for {self.host} needs; set it")

        return {name: _VARIABLE.sub(held, value) for name, value in self.headers.items()}


def place_of(settings: PlaceSettings) -> Place:
    """Return the place in some settings: theirs, else that of OPENAI_BASE_URL with the key in OPENAI_API_KEY.

    The key in OPENAI_API_KEY is not sent to an address in the settings, unless they name it.
    """
    if settings.base_url:
        return Place(settings.base_url, "its base_url", settings.api_key_env, settings.headers)
    url, variable = os.environ.get("OPENAI_BASE_URL") or OPENAI, settings.api_key_env or "OPENAI_API_KEY"
    return Place(url, "OPENAI_BASE_URL", variable, settings.headers)


def _sendable(variable: str) -> str:
    value = os.environ.get(variable, "").strip()
    if not (value.isascii() and (value.isprintable() or not value)):
        raise ProviderAccessError(f"{variable} holds characters that no key has; copy it again")
    return value
