"""Hosts that a source on the web may be redirected to: a server or document could name one of the inner network.

They are checked by name and port, for every request. A name that resolves to another address from one moment to the
next (DNS rebinding) is not detected.
"""

import errno
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from lightrag_dagster.settings.sources import split_host

if TYPE_CHECKING:
    from aiohttp import ClientHandlerType, ClientRequest, ClientResponse, ClientSession

WEB = ("http", "https")
"""Schemes of web servers."""

_PORTS = {"http": 80, "https": 443}


class RefusedHostError(PermissionError):
    """A redirect leads to a host that is not allowed."""


@dataclass(frozen=True)
class Hosts:
    """The host and port of a URI, the same host by https, and others by name: `host`, or `host:port`."""

    uri: str
    others: tuple[str, ...] = ()

    def check(self, scheme: str, host: str, port: int | None) -> None:
        """Raise RefusedHostError unless requests may go there; a port of None is that of the scheme."""
        if scheme not in WEB:
            raise RefusedHostError(errno.EACCES, f"it is redirected to a {scheme}: address, which is not followed")
        place = (scheme, _plain(host), port or _PORTS[scheme])
        if place not in self._allowed:
            shown = f"{place[1]}:{place[2]}"
            raise RefusedHostError(
                errno.EACCES,
                f"it is redirected to {scheme}://{shown}, which is not the source's own host; if it is meant, add "
                f"{shown} to follow_hosts",
            )

    @cached_property
    def _allowed(self) -> frozenset[tuple[str, str, int]]:
        own = urlsplit(self.uri)
        host, scheme = _plain(own.hostname or ""), own.scheme.lower()
        places = {(scheme, host, own.port or _PORTS[scheme]), ("https", host, 443)}
        for other in map(split_host, self.others):
            places |= {(name, _plain(other[0]), other[1] or port) for name, port in _PORTS.items()}
        return frozenset(places)


@cache
def guarded_client(hosts: Hosts) -> Callable[..., Any]:
    """Return the client factory for fsspec's file system for the web, limited to these hosts."""

    async def check(request: "ClientRequest", send: "ClientHandlerType") -> "ClientResponse":
        hosts.check(request.url.scheme, request.url.raw_host or "", request.url.explicit_port)
        return await send(request)

    async def make(**options: Any) -> "ClientSession":
        from aiohttp import ClientSession

        return ClientSession(**options, middlewares=(check,))

    return make


def _plain(host: str) -> str:
    """Return a host in the form of requests."""
    if not host.isascii():
        import httpx2

        host = httpx2.URL(f"https://{host}").raw_host.decode("ascii")
    return host.rstrip(".").lower()
