"""The way into the service for every request of HTTP: token, length, and the client that may leave."""

import asyncio
import logging
import time
from collections.abc import Collection, Mapping

import anyio
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lightrag_dagster.serving.access import Caller
from lightrag_dagster.serving.limits import ServiceLimits
from lightrag_dagster.serving.service import Service

_log = logging.getLogger("lightrag_dagster.serving")

OPEN = ("/health", "/ready", "/openapi.json")
"""Paths that need no token."""
LOCAL = ("127.0.0.1", "localhost", "::1")
_LEFT = 499


class Entrance:
    """An ASGI app in front of another: it lets in whom a token names, and ends what a client left.

    Access is logged by method, path, status, time and name of the caller, never by what was asked.
    """

    def __init__(self, app: ASGIApp, service: Service, paths: Collection[str]) -> None:
        """Take the app behind it, and the paths that it has."""
        self._app, self._service, self._paths = app, service, paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        began, status, caller = time.perf_counter(), _LEFT, Caller(name="unknown")

        async def noting(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            caller = _caller(self._service, Headers(scope=scope), scope["path"])
            if scope["path"] not in self._paths:
                raise HTTPException(404, f"this path is not here; there are {', '.join(self._paths)}")
            scope.setdefault("state", {})["caller"] = caller
            scope["app"] = self  # by which routes of Starlette know that errors are answered here
            await _until_gone(self._app, scope, receive, noting, self._service.limits)
        except ClientDisconnect:
            pass
        except Exception as error:
            refused = self._service.refusal(error)
            if status == _LEFT:
                told = {"detail": refused.detail}  # as LightRAG has it
                await JSONResponse(told, refused.status_code, refused.headers)(scope, receive, noting)
        finally:
            path = scope["path"] if scope["path"] in self._paths else "other"
            self._service.requests.labels(path, str(status)).inc()
            took = time.perf_counter() - began
            _log.info("%s %s %d %.3f s %s", scope["method"], path, status, took, caller.name)


def _caller(service: Service, headers: Mapping[str, str], path: str) -> Caller:
    """Return who asks, by X-API-Key or Authorization; raises HTTPException."""
    if service.tokens is None:
        name = headers.get("host", "localhost")
        if (name.rsplit(":", 1)[0] if not name.endswith("]") else name).strip("[]") not in LOCAL:
            raise HTTPException(421, "without tokens this service answers under the name localhost alone")
        return service.anyone
    kind, _, bearer = headers.get("authorization", "").partition(" ")
    token = headers.get("x-api-key") or (bearer.strip() if kind.lower() == "bearer" else "")
    caller = service.tokens.caller(token)
    if caller is None and path not in OPEN:
        said = "give a token of this service, as X-API-Key or as Authorization: Bearer"
        if path.startswith("/query"):  # as LightRAG has it
            raise HTTPException(403, said)
        raise HTTPException(401, said, {"WWW-Authenticate": "Bearer"})
    return caller or Caller(name="unknown")


async def _until_gone(app: ASGIApp, scope: Scope, receive: Receive, send: Send, limits: ServiceLimits) -> None:
    """Run an app with the whole body of its request, and end it when the client leaves; raises HTTPException."""
    body = bytearray()
    with anyio.move_on_after(limits.seconds) as arriving:
        async for part in Request(scope, receive).stream():
            body += part
            if len(body) > limits.body_bytes:
                raise HTTPException(413, f"the body of a request has at most {limits.body_bytes:,} bytes")
    if arriving.cancelled_caught:
        raise HTTPException(408, f"the body of this request did not come within {limits.seconds:g} s; send it again")
    unread = [bytes(body)]

    async def replay() -> Message:
        while not unread:
            await anyio.sleep_forever()  # the app needs not see the client leave: it is ended
        return {"type": "http.request", "body": unread.pop(), "more_body": False}

    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        asked.cancel()

    with anyio.CancelScope() as asked:
        watching = asyncio.create_task(watch())
        try:
            await app(scope, replay, send)
        finally:
            watching.cancel()
