"""One ASGI app with every door: MCP, LightRAG's questions, `/retrieve`, `/facts`, and what operators look at."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version
from inspect import isasyncgenfunction
from typing import Any

import anyio
from mcp.server.transport_security import TransportSecuritySettings
from prometheus_client import generate_latest
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from lightrag_dagster.serving import asking, lightrag_api
from lightrag_dagster.serving.entrance import Entrance
from lightrag_dagster.serving.openapi import Ask, openapi_of, taken_by
from lightrag_dagster.serving.refusals import request_of
from lightrag_dagster.serving.service import Service
from lightrag_dagster.serving.tools import mcp_server

QUESTIONS: dict[str, Ask] = {
    "/query": lightrag_api.answer,
    "/query/stream": lightrag_api.stream,
    "/query/data": lightrag_api.data,
    "/retrieve": asking.retrieve,
    "/facts": asking.facts,
}
"""The questions that are asked by POST."""

_LAST_SECONDS = 1.0
"""Time that a client has to take the last line of an answer whose time is over."""


class _Door:
    """The ASGI app that answers one question."""

    def __init__(self, service: Service, ask: Ask) -> None:
        self._service, self._ask, self._takes = service, ask, taken_by(ask)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        if request.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
            raise HTTPException(415, "send the question as application/json")
        caller, body = request.state.caller, await request.body()
        async with self._service.asking(caller, scope["path"], body.decode(errors="replace")) as base:
            asked = request_of(self._takes, body)
            if isasyncgenfunction(self._ask):
                # Spent dollars are refused before the first line, so all lines of such an answer are awaited.
                is_priced, lines = caller.dollars_a_day is not None, self._ask(base, asked)
                first = [one async for one in lines] if is_priced else [await anext(lines, {"response": ""})]
                return await _send_lines(self._service, first, lines, send)
            found = await self._ask(base, asked)
        told = found.model_dump(exclude_none=True) if isinstance(found, BaseModel) else found
        await JSONResponse(told)(scope, receive, send)


async def _send_lines(service: Service, first: list[Any], rest: AsyncIterator[Any], send: Send) -> None:
    """Send an answer in lines; an error is the last one, and raised as HTTPException, so that it is counted."""

    async def send_line(line: Any, *, more: bool = True) -> None:
        await send({"type": "http.response.body", "body": json.dumps(line).encode() + b"\n", "more_body": more})

    headers = [(b"content-type", b"application/x-ndjson"), (b"cache-control", b"no-cache")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    try:
        for line in first:
            await send_line(line)
        async for line in rest:
            await send_line(line)
    except asyncio.CancelledError:
        # By the time limit; or the client left, and cannot read it. One that does not read has a second.
        with anyio.move_on_after(_LAST_SECONDS, shield=True):
            await send_line({"error": "it took too long; ask for less"}, more=False)
        raise
    except Exception as error:
        refused = service.refusal(error)
        await send_line({"error": refused.detail}, more=False)
        raise refused from None
    await send({"type": "http.response.body", "body": b""})


def _looked_at(service: Service, questions: Mapping[str, Ask]) -> list[Route]:
    """Return what operators look at."""

    async def health(_: Request) -> Response:
        own = version("lightrag-dagster")
        mode = "disabled" if service.tokens is None else "enabled"
        told = {"status": "healthy", "auth_mode": mode, "core_version": own, "api_version": own}
        return JSONResponse(told | {"webui_available": False, "pipeline_busy": False})

    async def ready(_: Request) -> Response:
        return JSONResponse({"ready": service.ready}, 200 if service.ready else 503)

    async def metrics(_: Request) -> Response:
        return Response(generate_latest(service.metrics), media_type="text/plain; version=0.0.4")

    async def openapi(_: Request) -> Response:
        return JSONResponse(openapi_of(questions))

    return [Route(f"/{one.__name__}", one) for one in (health, ready, metrics)] + [Route("/openapi.json", openapi)]


def app_of(service: Service, *, only_mcp: bool = False) -> ASGIApp:
    """Return the app of a service, with every door or that of MCP alone."""
    questions = {} if only_mcp else QUESTIONS
    routes = [Route(path, _Door(service, ask), methods=["POST"]) for path, ask in questions.items()]
    server = mcp_server(service)
    # Under which names of the host it answers is decided at the entrance, as for all paths.
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    # Without sessions, so that any process of several may answer.
    mcp = server.streamable_http_app(stateless_http=True, json_response=True, transport_security=security)
    routes += [*_looked_at(service, questions), Route("/mcp", mcp, methods=["POST"])]

    @asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[None]:
        async with service.running(), server.session_manager.run():
            yield

    return Entrance(Router(routes, lifespan=lifespan), service, [one.path for one in routes])
