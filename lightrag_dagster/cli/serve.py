"""`serve` and `mcp`: the published knowledge base behind HTTP, and as tools for agents."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lightrag_dagster.errors import SettingsError

if TYPE_CHECKING:
    from lightrag_dagster.serving import Service

_Host = Annotated[str, typer.Option(help="The address to listen at; any but this machine's own needs tokens.")]
_Port = Annotated[int, typer.Option(min=0, max=65535, help="The port to listen at.")]
_Tokens = Annotated[
    Path | None, typer.Option(help="YAML with the hashes of tokens; else the text of the variable SERVE_TOKENS.")
]
_Seconds = Annotated[float, typer.Option(min=1, help="Most time of a question. Seconds.")]
_LogQuestions = Annotated[bool, typer.Option("--log-questions", help="Write questions into the log, too.")]


def serve(
    host: _Host = "127.0.0.1",
    port: _Port = 9621,
    tokens: _Tokens = None,
    seconds: _Seconds = 60,
    at_once: Annotated[int, typer.Option(min=1, help="Most questions that are answered at once; others wait.")] = 16,
    log_questions: _LogQuestions = False,
) -> None:
    """Answer by HTTP: LightRAG's /query, /retrieve, /facts, and MCP at /mcp; docs/serving.md."""
    from lightrag_dagster.serving import listen

    listen(_service(tokens, seconds, at_once, log_questions=log_questions), host, port)


def mcp(
    http: Annotated[bool, typer.Option("--http", help="Listen at HOST:PORT/mcp in place of standard input.")] = False,
    host: _Host = "127.0.0.1",
    port: _Port = 9621,
    tokens: _Tokens = None,
    seconds: _Seconds = 60,
    log_questions: _LogQuestions = False,
) -> None:
    """Give agents tools over MCP, by standard input and output or by HTTP; docs/serving.md."""
    from lightrag_dagster.serving import listen, speak

    service = _service(tokens, seconds, 16, log_questions=log_questions)
    if http:
        return listen(service, host, port, only_mcp=True)
    speak(service)


def _service(tokens: Path | None, seconds: float, at_once: int, *, log_questions: bool) -> "Service":
    from lightrag_dagster.query.models import unbounded
    from lightrag_dagster.serving import Service, ServiceLimits, tokens_of
    from lightrag_dagster.settings import load_settings

    settings = load_settings()
    limits = ServiceLimits(seconds=seconds, at_once=at_once)
    callers = tokens_of(tokens)
    everyone = callers.callers.values() if callers else ()
    named = {one.scope for one in everyone if one.scope}
    unknown = sorted(named - settings.scopes.keys())
    if unknown and (settings.scopes or not settings.only_asks):
        raise SettingsError(f"a token names the scope {unknown[0]}, which `scopes` of the settings lacks; correct it")
    if any(one.dollars_a_day is not None for one in everyone) and (said := unbounded(settings)):
        raise SettingsError(f"a token has dollars_a_day, but {said}")
    if settings.scope and callers:
        raise typer.BadParameter("tokens name their own scopes; leave it out", param_hint="--scope")
    return Service(settings.within(None), callers, settings.scope or None, limits, logs_questions=log_questions)


COMMANDS = (serve, mcp)
