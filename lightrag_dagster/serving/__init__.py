"""Room with a door: a knowledge base behind HTTP and MCP. Others use the names here alone."""

from lightrag_dagster.errors import SettingsError

try:
    from lightrag_dagster.serving.access import Tokens, tokens_of
    from lightrag_dagster.serving.app import app_of
    from lightrag_dagster.serving.limits import ServiceLimits
    from lightrag_dagster.serving.running import listen, speak
    from lightrag_dagster.serving.service import Service
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types", "prometheus_client", "starlette", "uvicorn"):
        raise
    raise SettingsError(
        f"{error.name} is missing; `serve` and `mcp` need the extra `serve`: pip install 'lightrag-dagster[serve]'"
    ) from error
