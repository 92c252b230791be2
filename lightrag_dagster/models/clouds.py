"""Places in a cloud, where the SDK signs each request: Amazon Bedrock as an IAM identity, Google Vertex by ADC."""

import os
import re
from typing import Any

import openai
from openai.providers import bedrock, vertex

from lightrag_dagster.errors import ProviderAccessError
from lightrag_dagster.models.places import Place
from lightrag_dagster.settings import EmbeddingSettings, LLMSettings

CREDENTIALS = {
    "bedrock": "the credentials of AWS (AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the role of "
    "this machine)",
    "vertex": "Google's credentials (a file named by GOOGLE_APPLICATION_CREDENTIALS, or gcloud auth "
    "application-default login, or the account of this machine)",
}
"""Credentials by provider, in words for errors."""

_PLAIN = re.compile(r"[\w.:-]+", re.ASCII)


def signed_place(settings: LLMSettings | EmbeddingSettings) -> Place | None:
    """Return the place of a provider that signs requests, from the cloud's usual variables; None for the others.

    Raises:
        ProviderAccessError: a variable is not set, or a key is named.
    """
    provider = settings.provider
    if provider not in CREDENTIALS:
        return None
    if settings.api_key_env:
        told = f"api_key_env names a key, but provider {provider} signs requests; unset it, or set provider to openai"
        raise ProviderAccessError(told)
    url = settings.base_url or (_bedrock_url() if provider == "bedrock" else _vertex_url())
    return Place(url, "its base_url", "", settings.headers)


def signing(provider: str, place: Place) -> dict[str, Any]:
    """Return the arguments of a client that signs for this place alone; none for a provider that does not sign.

    Raises:
        ProviderAccessError: the SDK refuses the address or the region.
    """
    try:
        if provider == "bedrock":
            # Any other address is taken for the runtime's, such as that of a private link.
            return {"provider": bedrock(base_url=place.url, endpoint="mantle" if "mantle" in place.host else "runtime")}
        return {"provider": vertex(base_url=place.url)} if provider == "vertex" else {}
    except openai.OpenAIError as error:
        told = f"{place.host} cannot be used by provider {provider}: {error}"
    raise ProviderAccessError(told)


def _bedrock_url() -> str:
    region = _variable("AWS_REGION", "AWS_DEFAULT_REGION")
    return os.environ.get("AWS_BEDROCK_BASE_URL") or f"https://bedrock-runtime.{region}.amazonaws.com/openai/v1"


def _vertex_url() -> str:
    project, location = _variable("GOOGLE_CLOUD_PROJECT"), _variable("GOOGLE_CLOUD_LOCATION")
    host = "aiplatform.googleapis.com" if location == "global" else f"{location}-aiplatform.googleapis.com"
    return f"https://{host}/v1/projects/{project}/locations/{location}/endpoints/openapi"


def _variable(*names: str) -> str:
    value = next((held for name in names if (held := os.environ.get(name))), "")
    if not _PLAIN.fullmatch(value):
        raise ProviderAccessError(f"{names[0]} is not set, or no name of that kind; set it")
    return value
