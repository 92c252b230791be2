"""The way into the service for every request of HTTP: token, length, and the client that may leave."""

import asyncio
import logging
import time
from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lightrag_dagster.serving.access import Caller
from lightrag_dagster.serving.refusals import RefusedError, refusal
from lightrag_dagster.serving.service import Service

_log = logging.getLogger("lightrag_dagster.serving")

OPEN = ("/health", "/ready", "/openapi.json")
"""Paths that need no token."""

_OF_LIGHTRAG = ("/query", "/query/stream", "/query/data")
_LOCAL = ("localhost", "127.0.0.1", "[::1]", "")


def refused(error: RefusedError) -> JSONResponse:
    """Return a refusal as an answer, in the form of LightRAG's."""
    headers = {} if error.retry_after is None else {"Retry-After": f"{max(1, round(error.retry_after))}"}
    if error.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return JSONResponse({"detail": str(error)}, error.status, headers)


def token_of(headers: Mapping[str, str]) -> str | None:
    """Return the token of a request, from X-API-Key or Authorization."""
    kind, _, bearer = headers.get("authorization", "").partition(" ")
    return headers.get("x-api-key") or (bearer.strip() if kind.lower() == "bearer" else None) or None


class Entrance:
    """An ASGI app in front of another: it lets in whom a token names, and ends what a client left.

    Access is logged by method, path of a route, status, time and name of the caller, never by what was asked.
    """

    def __init__(self, app: ASGIApp, service: Service, paths: tuple[str, ...]) -> None:
        """Take the app behind it, and the paths that it has."""
        self._app, self._service, self._paths = app, service, paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, statuses, path = time.perf_counter(), [499], scope["path"] if scope["path"] in self._paths else "other"

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
            await send(message)

        who = "-"
        try:
            caller = self._caller(scope)
            who = scope.setdefault("state", {})["caller"] = caller
            await _until_gone(self._app, scope, receive, noting, self._service.limits.body_bytes)
        except Exception as error:
            answer = refusal(error)
            if len(statuses) == 1:
                await refused(answer)(scope, receive, noting)
        finally:
            name = who.name if isinstance(who, Caller) else who
            self._service.metrics.requests.labels(path, str(statuses[-1])).inc()
            _log.info("%s %s %d %.3f s %s", scope["method"], path, statuses[-1], time.perf_counter() - began, name)

    def _caller(self, scope: Scope) -> Caller:
        """Return who asks; raises RefusedError."""
        headers, path = Headers(scope=scope), scope["path"]
        if self._service.tokens is None:
            if headers.get("host", "").rsplit(":", 1)[0] not in _LOCAL:
                raise RefusedError(421, "without tokens this service answers under the name localhost alone")
            return self._service.anyone
        token = token_of(headers)
        caller = None if token is None else self._service.tokens.caller(token)
        if caller is None and path not in OPEN:
            status = 403 if path in _OF_LIGHTRAG else 401
            raise RefusedError(status, "give a token of this service, as X-API-Key or as Authorization: Bearer")
        return caller or Caller(name="unknown")


async def _until_gone(app: ASGIApp, scope: Scope, receive: Receive, send: Send, most: int) -> None:
    """Run an app with the whole body of its request, and cancel it when the client leaves; raises RefusedError."""
    body = await _body(Request(scope, receive), most)
    messages = [{"type": "http.request", "body": body, "more_body": False}]
    gone = asyncio.Event()

    async def replay() -> Message:
        if messages:
            return messages.pop()
        await gone.wait()
        return {"type": "http.disconnect"}

    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        gone.set()

    running, watching = asyncio.ensure_future(app(scope, replay, send)), asyncio.create_task(watch())
    try:
        await asyncio.wait((running, watching), return_when=asyncio.FIRST_COMPLETED)
    finally:
        running.cancel()
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
    try:
        await running
    except asyncio.CancelledError:
        if not gone.is_set():
            raise


async def _body(request: Request, most: int) -> bytes:
    parts, length = [], 0
    async for part in request.stream():
        length += len(part)
        if length > most:
            raise RefusedError(413, f"the body of a request has at most {most:,} bytes")
        parts.append(part)
    return b"".join(parts)
