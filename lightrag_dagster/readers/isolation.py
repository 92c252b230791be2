"""Reading of files in a process of its own, so that a file that hangs or crashes its parser costs only itself.

A parser process reads one file after the other, and ends when a file exceeds a limit, or after a minute without one.
It gets the bytes of a file and answers with JSON, so that its answer can only be text; it has no keys. It is not a
sandbox: an attacker who takes over a parser has the rights of the user.
"""

import json
import resource
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

from pydantic import TypeAdapter

from lightrag_dagster.core.child import Child, ChildEndedError, ChildStartError, Pool
from lightrag_dagster.core.serving import IDLE_SECONDS, Channel, limit
from lightrag_dagster.readers.content import Limits, ReadingOptions, UnreadableError
from lightrag_dagster.readers.extraction import ExtractedText, extract_text
from lightrag_dagster.readers.formats import FileFormat, format_of

_ALSO_PASSED_ON = ("DOCLING_", "HF_HOME")
_PAGE_DONE = b"."


def extract(data: bytes, path: str, options: ReadingOptions, limits: Limits) -> ExtractedText:
    """Extract the text as `extract_text`, within limits if a file of its format can make a parser hang or crash.

    Raises:
        UnreadableError: as `extract_text`, or the file exceeds a limit or ends its parser.
    """
    found = format_of(path)
    if found is None or not found.isolated:
        return extract_text(data, path)
    return extract_isolated(data, path, options, limits)


def extract_isolated(data: bytes, path: str, options: ReadingOptions, limits: Limits) -> ExtractedText:
    """Extract the text as `extract_text`, within limits; a mail that exceeds them is read without its attachments.

    Raises:
        UnreadableError: as `extract_text`, or the file exceeds a limit or ends its parser.
    """
    try:
        return _extract(data, path, options, limits)
    except _LimitError as error:
        found = format_of(path)
        if found is None or not found.has_attachments:
            raise
        extracted = _extract(data, path, options._replace(attachments=False), limits)
        notes = (f"its attachments are not read: {error}", extracted.note)
        return replace(extracted, note="; ".join(filter(None, notes)))


class _LimitError(UnreadableError):
    """A file exceeds a limit or ends its parser."""


class _FullError(ChildEndedError):
    """A file needs more memory than a parser has."""


def _extract(data: bytes, path: str, options: ReadingOptions, limits: Limits) -> ExtractedText:
    question = json.dumps([path, options, limits.seconds]).encode()
    memory = f"needs more memory than documents.max_memory_mb = {limits.memory_mb}; raise it, or divide the file"
    try:
        answer = _parsers(limits.memory_mb).ask(partial(_exchange, question, data, limits.seconds))
    except TimeoutError as error:
        raise _LimitError(
            f"not read within documents.max_seconds = {limits.seconds:g}; raise it, or divide the file"
        ) from error
    except _FullError as error:
        raise _LimitError(memory) from error
    except ChildEndedError as error:
        ended = "did not start" if isinstance(error, ChildStartError) else "ended"
        fault = getattr(format_of(path), "fault", FileFormat.fault)
        raise _LimitError(f"its parser {ended}{error}; {fault}, or {memory}") from error
    kind, said = answer[:1], answer[1:]
    if kind == b"!":
        raise UnreadableError(said.decode("utf-8", "replace"))
    return _extracted().validate_json(said)


@cache
def _parsers(memory_mb: int) -> Pool:
    return Pool(__name__, [str(memory_mb)], prefixes=_ALSO_PASSED_ON)


def _exchange(question: bytes, data: bytes, seconds: float, parser: Child) -> bytes:
    """Return the answer of a parser, which has `seconds` for each page."""
    parser.send(question)
    parser.send(data)
    answer = _PAGE_DONE
    while answer == _PAGE_DONE:
        answer = parser.receive(seconds)
    if not answer:
        raise _FullError
    return answer


@cache
def _extracted() -> TypeAdapter[ExtractedText]:
    return TypeAdapter(ExtractedText)


def serve(channel: Channel, arguments: list[str]) -> None:
    """Read files until no more come, within the megabytes of memory in the first argument."""
    limit(resource.RLIMIT_AS, int(arguments[0]) << 20)
    channel.say_ready()
    while True:
        path, options, seconds = json.loads(channel.receive(IDLE_SECONDS))
        data = channel.receive(IDLE_SECONDS)
        _limit_time(seconds)

        def page_done(seconds: float = seconds) -> None:
            _limit_time(seconds)
            channel.send(_PAGE_DONE)

        channel.send(_answer(data, path, ReadingOptions(*options), page_done))


def _limit_time(seconds: float) -> None:
    """Bound the time of a parser whose run was killed while a library's code keeps the parser busy."""
    limit(resource.RLIMIT_CPU, int(time.process_time() + 4 * seconds) + 2)


def _answer(data: bytes, path: str, options: ReadingOptions, page_done: Callable[[], None]) -> bytes:
    """Return the text as JSON after a plus, a reason after an exclamation mark, or an empty answer without memory."""
    try:
        return b"+" + _extracted().dump_json(extract_text(data, path, options, page_done))
    except MemoryError:
        return b""
    except UnreadableError as error:
        return b"!" + str(error).encode("utf-8", "replace")
