"""A service at work: over HTTP, or over standard input and output."""

import asyncio
import logging
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from lightrag_dagster.core.text.counted import counted
from lightrag_dagster.errors import SettingsError
from lightrag_dagster.serving.app import app_of
from lightrag_dagster.serving.entrance import LOCAL
from lightrag_dagster.serving.service import Service
from lightrag_dagster.serving.tools import mcp_server

_log = logging.getLogger("lightrag_dagster.serving")

_LAST_SECONDS = 3
"""Time that running questions have after the signal to end."""

_SAID = types.ErrorData(code=types.PARSE_ERROR, message="this line is not a message of JSON-RPC 2.0; send one a line")
_UNREADABLE = SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=None, error=_SAID))


def listen(service: Service, host: str, port: int, *, only_mcp: bool = False) -> None:
    """Answer by HTTP until a signal; raises SettingsError if anyone could ask from elsewhere."""
    if service.tokens is None and host not in LOCAL:
        raise SettingsError(f"at {host} anyone could ask; give --tokens, or listen at 127.0.0.1")
    _log_to_standard_error()
    app = app_of(service, only_mcp=only_mcp)
    quiet = dict[str, Any](access_log=False, log_level="warning", server_header=False)
    scope = f", scope {service.scope}" if service.scope else ""
    callers = counted(len(service.tokens.callers), "token", "tokens") if service.tokens else "without tokens"
    _log.info("%s%s is asked at http://%s:%s; %s", service.settings.home, scope, host, port, callers)
    try:
        # The other one, httptools, has no limit of a header.
        uvicorn.run(app, host=host, port=port, http="h11", timeout_graceful_shutdown=_LAST_SECONDS, **quiet)
    except SystemExit as error:
        raise SettingsError(f"nothing can listen at {host}:{port}, as is said above; name another --port") from error


def speak(service: Service) -> None:
    """Answer one agent by standard input and output until it leaves."""
    _log_to_standard_error()
    server = mcp_server(service)

    async def answering() -> None:
        async with service.running(), stdio_server() as (lines, answers), anyio.create_task_group() as group:
            sent, questions = anyio.create_memory_object_stream[SessionMessage | Exception]()

            async def read() -> None:
                """Hand on messages, and answer lines that are none, about which the SDK is silent."""
                async with sent:
                    async for one in lines:
                        await (answers.send(_UNREADABLE) if isinstance(one, Exception) else sent.send(one))

            group.start_soon(read)
            await server.run(questions, answers, server.create_initialization_options())

    asyncio.run(answering())


def _log_to_standard_error() -> None:
    """Write our lines to standard error, and of the SDK none: its lines may hold arguments."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    _log.setLevel(logging.INFO)
    _log.addHandler(handler)
    _log.propagate = False
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
