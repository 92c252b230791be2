"""One ASGI app with every door: MCP, LightRAG's questions, `/retrieve`, `/facts`, and what operators look at."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version
from typing import Any

from mcp.server.transport_security import TransportSecuritySettings
from prometheus_client import generate_latest
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from lightrag_dagster.query.knowledge_base import KnowledgeBase
from lightrag_dagster.serving import asking, lightrag_api, requests
from lightrag_dagster.serving.entrance import Entrance
from lightrag_dagster.serving.openapi import Door, openapi_of
from lightrag_dagster.serving.refusals import RefusedError, refusal
from lightrag_dagster.serving.service import Service
from lightrag_dagster.serving.tools import mcp_server


async def _retrieve(base: KnowledgeBase, asked: requests.SearchRequest) -> dict[str, Any]:
    return (await base.aretrieve(asked.query, **asked.options())).to_dict()


DOORS = (
    Door("/query", lightrag_api.QueryRequest, lightrag_api.answer, lightrag_api.QueryResponse),
    Door("/query/stream", lightrag_api.QueryRequest, lightrag_api.stream, lines=True),
    Door("/query/data", lightrag_api.QueryRequest, lightrag_api.data, lightrag_api.QueryDataResponse),
    Door("/retrieve", requests.SearchRequest, _retrieve),
    Door("/facts", requests.FactsRequest, asking.facts),
)
"""The questions that are asked by POST."""

_LAST_SECONDS = 1.0
"""Time that a client has to take the last line of an answer whose time is over."""


class _DoorApp:
    """The ASGI app behind a door."""

    def __init__(self, service: Service, door: Door) -> None:
        self._service, self._door = service, door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request, door = Request(scope, receive), self._door
        if request.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
            raise RefusedError(415, "send the question as application/json")
        body = await request.body()
        async with self._service.asking(request.state.caller, door.path, body.decode(errors="replace")) as base:
            asked = door.takes.model_validate_json(body)
            if door.lines:
                lines = door.ask(base, asked)
                is_priced = request.state.caller.dollars_a_day is not None
                return await _send_lines(_complete(lines) if is_priced else lines, send)
            found = await door.ask(base, asked)
        told = found.model_dump(exclude_none=True) if isinstance(found, BaseModel) else found
        await JSONResponse(told)(scope, receive, send)


async def _complete(lines: AsyncIterator[dict[str, Any]]) -> AsyncIterator[dict[str, Any]]:
    """Yield lines when all are there, so that spent dollars are refused before the first one."""
    for line in [one async for one in lines]:
        yield line


async def _send_lines(lines: AsyncIterator[dict[str, Any]], send: Send) -> None:
    """Send an answer in lines; an error before the first one is raised, a later one is the last line."""
    started = False

    async def send_line(line: dict[str, Any]) -> None:
        await send({"type": "http.response.body", "body": json.dumps(line).encode() + b"\n", "more_body": True})

    try:
        async for line in lines:
            if not started:
                headers = [(b"content-type", b"application/x-ndjson"), (b"cache-control", b"no-cache")]
                await send({"type": "http.response.start", "status": 200, "headers": headers})
                started = True
            await send_line(line)
    except (Exception, asyncio.CancelledError) as error:
        if not started:
            raise
        # Cancelled by the time limit: a client that left cannot read it.
        said = "it took too long; ask for less" if isinstance(error, asyncio.CancelledError) else str(refusal(error))
        if isinstance(error, asyncio.CancelledError):
            with suppress(TimeoutError):  # one that does not read would keep the place of another question
                async with asyncio.timeout(_LAST_SECONDS):
                    await send_line({"error": said})
                    await send({"type": "http.response.body", "body": b""})
            raise
        await send_line({"error": said})
    await send({"type": "http.response.body", "body": b""})


def _looked_at(service: Service, doors: Sequence[Door]) -> list[Route]:
    """Return what operators look at."""

    async def health(_: Request) -> Response:
        own, mode = version("lightrag-dagster"), "disabled" if service.tokens is None else "enabled"
        told = {"status": "healthy", "auth_mode": mode, "core_version": own, "api_version": own}
        return JSONResponse(told | {"webui_available": False, "pipeline_busy": False})

    async def ready(_: Request) -> Response:
        return JSONResponse({"ready": service.ready}, 200 if service.ready else 503)

    async def metrics(_: Request) -> Response:
        return Response(generate_latest(service.metrics), media_type="text/plain; version=0.0.4")

    async def openapi(_: Request) -> Response:
        return JSONResponse(openapi_of(doors))

    return [Route(f"/{one.__name__}", one) for one in (health, ready, metrics)] + [Route("/openapi.json", openapi)]


class _Mcp:
    """The ASGI app of MCP, without sessions: any process of several may answer."""

    def __init__(self, service: Service) -> None:
        server = mcp_server(service)
        # Under which names of the host it answers is decided at the entrance, as for all paths.
        security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        server.streamable_http_app(stateless_http=True, json_response=True, transport_security=security)
        self.manager = server.session_manager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.manager.handle_request(scope, receive, send)


def app_of(service: Service, *, only_mcp: bool = False) -> ASGIApp:
    """Return the app of a service, with every door or that of MCP alone."""
    mcp, doors = _Mcp(service), () if only_mcp else DOORS
    routes = [Route(one.path, _DoorApp(service, one), methods=["POST"]) for one in doors]
    routes += [*_looked_at(service, doors), Route("/mcp", mcp)]

    @asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[None]:
        async with service.running(), mcp.manager.run():
            yield

    return Entrance(Router(routes, lifespan=lifespan), service, [one.path for one in routes])
