"""Access to an endpoint: the name of a model, and a key where one is needed."""

from lightrag_dagster.errors import ProviderAccessError
from lightrag_dagster.models.places import OPENAI, place_of
from lightrag_dagster.settings import EmbeddingSettings, LLMSettings, Settings
from lightrag_dagster.spending.account import Account
from lightrag_dagster.spending.prices import unpriced


def prefix_of(settings: LLMSettings | EmbeddingSettings) -> str:
    """Return the beginning of the variables that set a model."""
    return "LIGHTRAG_LLM__" if isinstance(settings, LLMSettings) else "LIGHTRAG_EMBEDDING__"


def without_model(settings: LLMSettings | EmbeddingSettings) -> str | None:
    """Return a line with the next step if an endpoint is asked and no model is named."""
    if settings.provider in ("offline", "local") or settings.model:
        return None
    section, example = ("llm", "gpt-6-luna") if isinstance(settings, LLMSettings) else ("embedding", "bge-m3")
    return (
        f"{prefix_of(settings)}MODEL ({section}.model) is not set; name one that your endpoint serves, such as "
        f"{example}; docs/models.md compares them"
    )


def missing(settings: LLMSettings | EmbeddingSettings) -> str | None:
    """Return a line with the next step if an endpoint is asked and a model or a key is missing, or cannot be sent."""
    if (said := without_model(settings)) or settings.provider in ("offline", "local"):
        return said
    try:
        place = place_of(settings)
        place.sent_headers()
        if not place.variable or place.key() or not (settings.api_key_env or place.url == OPENAI):
            return None
    except ProviderAccessError as error:  # of an address, a key, a header, or a variable of a cloud
        return str(error)
    prefix = prefix_of(settings)
    other = "name another in api_key_env" if settings.api_key_env else f"{prefix}BASE_URL for another server"
    told = f"{place.variable} is not set (model {settings.model}); set it, or {other}"
    return f"{told}, or {prefix}PROVIDER=offline"


def require_models(settings: Settings) -> None:
    """Raise ProviderAccessError if a run would ask an endpoint for a model without a name."""
    for one in _of_a_run(settings):
        if said := without_model(one):
            raise ProviderAccessError(said)


def access_warnings(settings: Settings) -> list[str]:
    """Return a line for each model that a run would ask and cannot, or that no budget bounds though there is one."""
    said = [missing(one) for one in _of_a_run(settings)]
    said += map(unpriced, _of_a_run(settings)) if Account.of("", "any", settings.llm).limits else []
    return list(dict.fromkeys(filter(None, said)))


def _of_a_run(settings: Settings) -> tuple[LLMSettings | EmbeddingSettings, ...]:
    return settings.llm.of("extract"), settings.llm.of("summarise"), settings.embedding
