"""Places of endpoints: an address, the key that goes there, and further headers."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from lightrag_dagster.errors import ProviderAccessError
from lightrag_dagster.settings import EmbeddingSettings, LLMSettings

OPENAI = "https://api.openai.com/v1"
CREDENTIALS = {
    "bedrock": "the credentials of AWS (AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the role of "
    "this machine)",
    "vertex": "Google's credentials (a file named by GOOGLE_APPLICATION_CREDENTIALS, or gcloud auth "
    "application-default login, or the account of this machine)",
}

_PLAIN = re.compile(r"[\w.:-]+", re.ASCII)
_HEADER = re.compile(r"[\w!#$%&'*+.^`|~-]+", re.ASCII)
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
        import httpx2  # here, since a tenth of a second is much for a command that asks no model

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
            ProviderAccessError: the address is not a URL; a variable is unset, or holds characters that no header has.
        """
        host = self.host

        def held(match: re.Match[str]) -> str:
            if value := _sendable(match[1]):
                return value
            raise ProviderAccessError(f"{match[1]} is not set, which a header for {host} needs; set it")

        sent = {name: _VARIABLE.sub(held, value) for name, value in self.headers.items()}
        for name in (name for name, value in sent.items() if not (_HEADER.fullmatch(name) and _is_sendable(value))):
            raise ProviderAccessError(f"header {name!r} for {host} has letters that no header has; correct it")
        return sent


def place_of(settings: LLMSettings | EmbeddingSettings) -> Place:
    """Return the place in some settings: theirs, else that of a cloud's variables, or of OPENAI_BASE_URL.

    The key in OPENAI_API_KEY is not sent to an address in the settings, unless they name it.

    Raises:
        ProviderAccessError: a cloud's variable is not set, or a key is named where requests are signed.
    """
    if settings.provider in CREDENTIALS:
        return _signed_place(settings)
    if settings.base_url:
        return Place(settings.base_url, f"base_url of model {settings.model}", settings.api_key_env, settings.headers)
    url = os.environ.get("OPENAI_BASE_URL") or OPENAI
    variable = settings.api_key_env or "OPENAI_API_KEY"
    return Place(url, "OPENAI_BASE_URL", variable, settings.headers)


def _signed_place(settings: LLMSettings | EmbeddingSettings) -> Place:
    if settings.api_key_env:
        told = f"api_key_env names a key, but provider {settings.provider} signs requests"
        raise ProviderAccessError(f"{told}; unset it, or set provider to openai")
    url = settings.base_url or (_bedrock_url() if settings.provider == "bedrock" else _vertex_url())
    return Place(url, f"base_url of model {settings.model}", "", settings.headers)


def _sendable(variable: str) -> str:
    value = os.environ.get(variable, "").strip()
    if not _is_sendable(value):
        raise ProviderAccessError(f"{variable} holds characters that no key has; copy it again")
    return value


def _bedrock_url() -> str:
    region = _variable("AWS_REGION", "AWS_DEFAULT_REGION")
    return os.environ.get("AWS_BEDROCK_BASE_URL") or f"https://bedrock-runtime.{region}.amazonaws.com/openai/v1"


def _vertex_url() -> str:
    project = _variable("GOOGLE_CLOUD_PROJECT")
    location = _variable("GOOGLE_CLOUD_LOCATION")
    host = "aiplatform.googleapis.com" if location == "global" else f"{location}-aiplatform.googleapis.com"
    return f"https://{host}/v1/projects/{project}/locations/{location}/endpoints/openapi"


def _variable(*names: str) -> str:
    value = next((held for name in names if (held := os.environ.get(name))), "")
    if not _PLAIN.fullmatch(value):
        raise ProviderAccessError(f"{names[0]} is not set to a usable name (provider bedrock or vertex); set it")
    return value


def _is_sendable(value: str) -> bool:
    return value.isascii() and value.isprintable()
