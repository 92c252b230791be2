"""One ASGI app with every door: MCP, LightRAG's questions, `/retrieve`, `/facts`, and what operators look at."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version
from typing import Any

from mcp.server.transport_security import TransportSecuritySettings
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from lightrag_dagster.query.knowledge_base import KnowledgeBase
from lightrag_dagster.serving import lightrag_api
from lightrag_dagster.serving.arguments import FactsRequest, RetrieveRequest
from lightrag_dagster.serving.entrance import Entrance, refused
from lightrag_dagster.serving.metrics import CONTENT_TYPE
from lightrag_dagster.serving.openapi import Door, openapi_of
from lightrag_dagster.serving.refusals import RefusedError, refusal
from lightrag_dagster.serving.service import Service
from lightrag_dagster.serving.tools import mcp_server


async def _retrieve(base: KnowledgeBase, asked: RetrieveRequest) -> dict[str, Any]:
    return (await base.aretrieve(asked.query, **asked.options())).to_dict()


async def _facts(base: KnowledgeBase, asked: FactsRequest) -> dict[str, Any]:
    found = await (base.acount if asked.count else base.afacts)(**asked.options())
    return {"snapshot_id": base.snapshot_id, **found.to_dict()}


DOORS = (
    Door("/query", lightrag_api.QueryRequest, lightrag_api.answer, "Answer a question", lightrag_api.QueryResponse),
    Door("/query/stream", lightrag_api.QueryRequest, lightrag_api.stream, "Answer in lines of JSON", lines=True),
    Door(
        *("/query/data", lightrag_api.QueryRequest, lightrag_api.data, "Return what is found"),
        lightrag_api.QueryDataResponse,
    ),
    Door("/retrieve", RetrieveRequest, _retrieve, "Return passages, entities, relations and facts with citations"),
    Door("/facts", FactsRequest, _facts, "List or count facts with citations"),
)
"""The questions that are asked by POST."""


class _Endpoint:
    """The ASGI app behind a door."""

    def __init__(self, service: Service, door: Door) -> None:
        self._service, self._door = service, door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request, door = Request(scope, receive), self._door
        if request.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
            raise RefusedError(415, "send the question as application/json")
        asked = door.takes.model_validate_json(await request.body())
        question = getattr(asked, "query", None) or asked.model_dump(exclude_none=True)
        async with self._service.asking(request.state.caller, door.path, question) as base:
            if door.lines:
                await _send_lines(door.ask(base, asked), send)
                return
            found = await door.ask(base, asked)
        answer = found.model_dump(exclude_none=True) if isinstance(found, BaseModel) else found
        await JSONResponse(answer)(scope, receive, send)


async def _send_lines(lines: AsyncIterator[dict[str, Any]], send: Send) -> None:
    """Send an answer in lines; an error before the first one is raised, a later one is the last line."""
    started = False
    try:
        async for line in lines:
            if not started:
                headers = [(b"content-type", b"application/x-ndjson"), (b"cache-control", b"no-cache")]
                await send({"type": "http.response.start", "status": 200, "headers": headers})
                started = True
            await send({"type": "http.response.body", "body": json.dumps(line).encode() + b"\n", "more_body": True})
    except Exception as error:
        if not started:
            raise
        last = json.dumps({"error": str(refusal(error))}).encode() + b"\n"
        await send({"type": "http.response.body", "body": last, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def _looked_at(service: Service, doors: Sequence[Door]) -> list[Route]:
    """Return what operators look at."""

    async def health(request: Request) -> Response:
        own = version("lightrag-dagster")
        absent = ("webui_available", "workspace_available", "api_docs_available", "ai_content_notice_enabled")
        mode = "disabled" if service.tokens is None else "enabled"
        busy = {"pipeline_busy": False, "pipeline_active": False}  # nothing is built by this process
        told = {"status": "healthy", "auth_mode": mode, "core_version": own, "api_version": own}
        return JSONResponse(told | dict.fromkeys(absent, False) | busy)

    async def ready(request: Request) -> Response:
        return JSONResponse({"ready": service.ready}, 200 if service.ready else 503)

    async def metrics(request: Request) -> Response:
        return Response(service.metrics.text(), media_type=CONTENT_TYPE)

    async def openapi(request: Request) -> Response:
        return JSONResponse(openapi_of(doors, with_tokens=service.tokens is not None))

    named: dict[str, Callable[[Request], Awaitable[Response]]] = {
        "/health": health,
        "/ready": ready,
        "/metrics": metrics,
        "/openapi.json": openapi,
    }
    return [Route(path, endpoint) for path, endpoint in named.items()]


class _Mcp:
    """The ASGI app of MCP: a server with all tools, and one for callers in a scope."""

    def __init__(self, service: Service) -> None:
        self.servers = {scoped: mcp_server(service, scoped=scoped) for scoped in (False, True)}
        for server in self.servers.values():
            # Who may ask under which name of the host is decided at the entrance, as for all paths.
            open_to_all = TransportSecuritySettings(enable_dns_rebinding_protection=False)
            server.streamable_http_app(stateless_http=True, json_response=True, transport_security=open_to_all)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        server = self.servers[scope["state"]["caller"].scope is not None]
        await server.session_manager.handle_request(scope, receive, send)


def app_of(service: Service, *, only_mcp: bool = False) -> ASGIApp:
    """Return the app of a service, with every door or that of MCP alone."""
    mcp = _Mcp(service)
    doors = () if only_mcp else DOORS
    routes = [Route(one.path, _Endpoint(service, one), methods=["POST"]) for one in doors]
    routes += [*_looked_at(service, doors), Route("/mcp", mcp)]
    paths = tuple(one.path for one in routes)

    async def missing(request: Request, error: Exception) -> Response:
        said = f"this path is not here; there are {', '.join(paths)}"
        return refused(RefusedError(404, said))

    async def other_method(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        allowed = (error.headers or {}).get("Allow", "")
        answer = refused(RefusedError(405, f"this path takes {allowed}"))
        answer.headers["Allow"] = allowed
        return answer

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(service.running())
            for server in mcp.servers.values():
                await stack.enter_async_context(server.session_manager.run())
            yield

    behind = Starlette(routes=routes, lifespan=lifespan, exception_handlers={404: missing, 405: other_method})
    return Entrance(behind, service, paths)
