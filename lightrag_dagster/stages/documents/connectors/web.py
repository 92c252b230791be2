"""Files of a web server."""

import errno
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import cache, partial
from typing import TYPE_CHECKING, ClassVar, TypeVar
from urllib.parse import quote, unquote

from lightrag_dagster.core.in_time import map_in_time
from lightrag_dagster.errors import one_line
from lightrag_dagster.settings.sources import SIDECAR_SUFFIX
from lightrag_dagster.stages.documents.connectors.hosts import Hosts
from lightrag_dagster.stages.documents.connectors.origin import EPOCH, ByURI, ListedFile, shown, unusable, warn_once
from lightrag_dagster.stages.documents.connectors.patterns import EVERY_FILE, Patterns

if TYPE_CHECKING:
    import httpx2

Value = TypeVar("Value")

_GONE = (404, 410)
_PASSING = (408, 425, 429, *range(500, 600))
_ATTEMPTS, _RETRY_SECONDS, _LONGEST_WAIT_SECONDS = 8, 60.0, 15.0
_REQUEST_SECONDS, _CONNECT_SECONDS, _REDIRECTS = 120.0, 10.0, 5
_WEAK = timedelta(seconds=60)  # of a time that counts seconds, beside the server's own clock
_UNQUOTED = "/!$&'()*+,;=:@~"


@dataclass(frozen=True)
class Web(ByURI):
    """The files of some names below a URL; a web server has no listing.

    Redirects are followed on its own host, and to hosts that are named (`Hosts`). Requests that fail for a passing
    reason are repeated; a server that answers none of them cannot be listed. If all names are `required`, one that is
    missing or does not come is an error. All places of a host share connections.
    """

    names: tuple[str, ...]
    patterns: Patterns = EVERY_FILE
    follow_hosts: tuple[str, ...] = ()
    required: bool = False
    at_once: ClassVar[int] = 16

    def files(self) -> Iterator[ListedFile]:
        """See `Origin.files`."""
        visible = (name for name in self.names if not any(part.startswith(".") for part in name.split("/")))
        wanted = [name for name in visible if self.patterns.match(name)]
        missing, unreached = list[str](), list[OSError]()
        for name, listed in map_in_time(partial(self._listed, unreached), wanted, self.at_once):
            if listed:
                yield listed
            elif not name.endswith(SIDECAR_SUFFIX):
                missing.append(name)
        if unreached and len(unreached) == len(wanted):
            raise OSError(unreached[0].errno, f"{self.uri}: {unreached[0].strerror}")
        if missing:
            warn_once(f"{self.uri}: {len(missing)} of its files in include, such as {min(missing)}, are not there")

    def read(self, listed: ListedFile, most: int) -> bytes:
        """See `Origin.read`."""
        return self._repeated(lambda: self._first(listed.place, most))

    def _listed(self, unreached: list[OSError], name: str) -> ListedFile | None:
        """Return a file, or None if there is none; a file with few headers is checked by reading it.

        A request that fails for a passing reason is added to `unreached`.
        """
        size, modified, e_tag, now = None, EPOCH, None, EPOCH
        try:
            headers = self._repeated(lambda: self._headers(name))
        except FileNotFoundError as error:
            if self.required and not name.endswith(SIDECAR_SUFFIX):
                raise FileNotFoundError(errno.ENOENT, f"{self.uri}/{name} is not there") from error
            return None
        except OSError as error:  # the error of reading it will be the reason of its row
            if isinstance(error, _PassingError):
                unreached.append(error)
                if self.required:
                    raise OSError(error.errno, f"{self.uri}/{name}: {error.strerror}") from error
        else:
            size = headers.get("Content-Length")
            modified, e_tag = _time(headers.get("Last-Modified")), headers.get("ETag")
            now = _time(headers.get("Date"))
        if size is None or not size.isdecimal():
            size, modified, e_tag = "0", EPOCH, None
        is_stable = EPOCH < modified < now - _WEAK  # the tag of a web server often depends on the file's time
        return ListedFile(
            path=shown(name),
            place=name,
            size=int(size),
            modified_at=modified,
            stamp=f"{int(size)}-{e_tag or modified.timestamp()}{'' if is_stable else '?'}",
            stamp_is_stable=is_stable,
            refused=unusable(name),
        )

    def _headers(self, name: str) -> "httpx2.Headers":
        with self._answer("HEAD", name) as answer:
            return answer.headers

    def _first(self, name: str, most: int) -> bytes:
        found, latest = bytearray(), time.monotonic() + _REQUEST_SECONDS
        with self._answer("GET", name) as answer:
            for block in answer.iter_bytes():
                found += block
                if len(found) >= most:
                    break
                if time.monotonic() > latest:
                    raise _PassingError(errno.ETIMEDOUT, f"it did not come within {_REQUEST_SECONDS:g} s")
        return bytes(found[:most])

    @contextmanager
    def _answer(self, method: str, name: str) -> "Iterator[httpx2.Response]":
        """Ask for a file; raises OSError, and _PassingError if it may succeed another time."""
        import httpx2

        try:
            above, host = self.uri.replace("#", "%23"), "/".join(self.uri.split("/")[:3])
            url = f"{above}/{quote(unquote(name), safe=_UNQUOTED)}"
            with _client(Hosts(host, self.follow_hosts)).stream(method, url) as answer:
                if answer.status_code in _GONE:
                    raise FileNotFoundError(errno.ENOENT, "it is not there any more")
                if not answer.is_success:
                    kind = _PassingError if answer.status_code in _PASSING else OSError
                    said = f"{answer.status_code} {answer.reason_phrase}".strip()
                    raise kind(errno.EIO, f"the server answered {said}")
                yield answer
        except httpx2.TooManyRedirects as error:
            raise OSError(errno.ELOOP, f"it is redirected more than {_REDIRECTS} times") from error
        except httpx2.InvalidURL as error:
            raise OSError(errno.EINVAL, f"it is not a URL: {one_line(error)}") from error
        except httpx2.HTTPError as error:
            raise _PassingError(errno.EIO, f"the request failed ({type(error).__name__})") from error

    def _repeated(self, ask: Callable[[], Value]) -> Value:
        """Repeat a request that fails for a passing reason, for a minute at the most."""
        import tenacity

        return tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(_PassingError),
            stop=tenacity.stop_after_attempt(_ATTEMPTS) | tenacity.stop_after_delay(_RETRY_SECONDS),
            wait=tenacity.wait_random_exponential(0.1, _LONGEST_WAIT_SECONDS),
            reraise=True,
        )(ask)


class _PassingError(OSError):
    """A request failed for a reason that may pass."""


@cache
def _client(hosts: Hosts) -> "httpx2.Client":
    """Return a client that follows redirects only to these hosts, for all threads."""
    import httpx2

    def check(request: httpx2.Request) -> None:
        hosts.check(request.url.scheme, request.url.raw_host.decode("ascii"), request.url.port)

    return httpx2.Client(
        follow_redirects=True,
        max_redirects=_REDIRECTS,
        event_hooks={"request": [check]},  # before the first request, and before each redirect
        headers={"Accept-Encoding": "identity"},
        timeout=httpx2.Timeout(_REQUEST_SECONDS, connect=_CONNECT_SECONDS),
    )


def _time(value: str | None) -> datetime:
    """Return the time of a header, 1970 without one."""
    try:
        found = parsedate_to_datetime(value or "")
    except (ValueError, OverflowError):
        return EPOCH
    return found if found.tzinfo else found.replace(tzinfo=UTC)
