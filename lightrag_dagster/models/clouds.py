"""Signed requests to a cloud, by the SDK: to Amazon Bedrock as an IAM identity, to Google Vertex by ADC."""

from typing import Any

import openai
from openai.providers import bedrock, vertex

from lightrag_dagster.errors import ProviderAccessError
from lightrag_dagster.models.places import Place


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
