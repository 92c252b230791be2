"""Options that several commands share, and those by which a command asks a part of the documents."""

import inspect
import re
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Annotated, Any, Literal

import typer

from lightrag_dagster.query.mode import MODES

Sources = Annotated[list[str] | None, typer.Option(help="Only this source (repeatable).")]
Snapshot = Annotated[str | None, typer.Option(help="Id or name of a snapshot; the published one unless given.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]
AcceptDeletes = Annotated[
    bool,
    typer.Option(help="Let sources, or those of --source, lose any number of documents or their text, or be gone."),
]
MaxCost = Annotated[float | None, typer.Option(min=0, help="Stop before spending more than this. US dollars.")]
Overrides = Mapping[str, Mapping[str, object]]

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def seconds_of(time: str) -> float:
    """Return the seconds of a time such as 90s, 10m, 26h or 7d.

    Raises:
        typer.BadParameter: the text has another form.
    """
    found = re.fullmatch(r"(\d{1,9}(?:\.\d+)?)([smhd])", time)
    if found is None:
        raise typer.BadParameter(f"{time!r} cannot be a time; write a number and its unit: 90s, 10m, 26h or 7d")
    return float(found[1]) * _UNITS[found[2]]


def _wait_for_locks(context: typer.Context, seconds: float | None) -> None:
    if seconds is not None:
        from lightrag_dagster.storage.locks.base import waiting_for_locks

        context.with_resource(waiting_for_locks(seconds))


WaitLock = Annotated[
    float | None,
    typer.Option(
        "--wait-lock",
        parser=seconds_of,
        metavar="TIME",
        callback=_wait_for_locks,
        help="Wait so long for another process that builds, such as 10m, before exit code 75; 5 s unless given.",
    ),
]
MaxAge = Annotated[
    float | None,
    typer.Option(
        "--max-age",
        parser=seconds_of,
        metavar="TIME",
        help="With --check: the longest time since a source was what it should be, such as 26h.",
    ),
]
RowsForm = Annotated[
    Literal["table", "csv", "escaped-csv", "json"],
    typer.Option("--format", help="Output format; escaped-csv has ' before what a spreadsheet takes for a formula."),
]
Timeout = Annotated[float | None, typer.Option(help="Most time that it may take. Seconds.")]
AsOf = Annotated[
    str | None, typer.Option(help="The day on which facts are to hold, such as 2024-03-31, 2024-03 or 2024.")
]


_Texts = list[str] | None
_Text = str | None

_OPTIONS: dict[str, Any] = {
    "sources": Annotated[_Texts, typer.Option("--source", help="Search only this source (repeatable).")],
    "paths": Annotated[_Texts, typer.Option("--path", help="Search only paths like 2024/* (repeatable).")],
    "media_types": Annotated[_Texts, typer.Option("--media-type", help="Search only e.g. text/html (repeatable).")],
    "documents": Annotated[_Texts, typer.Option("--document", help="Search only this doc_id (repeatable).")],
    "authors": Annotated[_Texts, typer.Option("--author", help="Search only this author (repeatable).")],
    "tags": Annotated[_Texts, typer.Option("--tag", help="Search only this tag (repeatable).")],
    "languages": Annotated[_Texts, typer.Option("--language", help="Search only this language, e.g. de (repeatable).")],
    "modified_since": Annotated[_Text, typer.Option(help="Only files modified since, like 2026-01-31.")],
    "dated_since": Annotated[_Text, typer.Option(help="Only documents of this date or a later one.")],
    "dated_until": Annotated[_Text, typer.Option(help="Only documents of this date or an older one.")],
}
"""The option of each field of `Filters`."""


_CONDITIONS: dict[str, Any] = {
    "subject": Annotated[_Text, typer.Argument(help="Name or id of the entity that they are about.")],
    "relation": Annotated[_Text, typer.Option(help="Only this relation of the schemas.")],
    "object": Annotated[_Text, typer.Option(help="Only with this entity at the other end.")],
    "type": Annotated[_Text, typer.Option(help="Only about entities of this type.")],
    "value": Annotated[
        _Text, typer.Option(help="Only with this value, like 'yes', '100 EUR', '>=100 EUR' or '<2024-03'.")
    ],
    "as_of": AsOf,
    "contradicted": Annotated[bool | None, typer.Option("--contradicted", help="Only facts that others contradict.")],
}
"""The option of each condition of `KnowledgeBase.facts`."""

_QUESTION: dict[str, Any] = {
    "mode": Annotated[
        _Text, typer.Option(help=f"One of {', '.join(MODES)}; else the setting `query.mode`, by default fusion.")
    ],
    "low_level": Annotated[_Texts, typer.Option(help="A keyword that finds entities (repeatable).")],
    "high_level": Annotated[_Texts, typer.Option(help="A keyword that finds relations (repeatable).")],
    "top_k": Annotated[
        int | None,
        typer.Option(help="Entities, and relations, found by vector search; else the setting, by default 40."),
    ],
    "chunk_top_k": Annotated[int | None, typer.Option(help="Chunks in the context; else the setting, by default 20.")],
    "prefer": Annotated[Literal["best", "newest"] | None, typer.Option(help="The chunks that come first.")],
    "as_of": AsOf,
    "response_type": Annotated[_Text, typer.Option(help="Form and length, like 'Bullet Points'.")],
    "user_prompt": Annotated[_Text, typer.Option(help="Further instructions to the model.")],
    "timeout": Timeout,
}
"""The option of each of `QueryOptions` that takes a value, and of both kinds of keywords."""


def _expanded(
    parameter: str, options: dict[str, Any], made: Callable[[dict[str, Any]], object]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a command some options in place of one parameter, which is made from them."""

    def expand(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def expanded(**values: Any) -> None:
            given = {name: values.pop(name) for name in options}
            command(**values, **{parameter: made(given)})

        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        chosen = [inspect.Parameter(name, kind, default=None, annotation=one) for name, one in options.items()]
        parameters: list[inspect.Parameter] = []
        for one in inspect.signature(command).parameters.values():
            parameters += chosen if one.name == parameter else [one]
        expanded.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        expanded.__annotations__ = {one.name: one.annotation for one in parameters}
        return expanded

    return expand


def _filters(given: dict[str, Any]) -> object:
    from lightrag_dagster.query.filters.filters import Filters

    return Filters(**given)


with_filters = _expanded("filters", _OPTIONS, _filters)
"""Give a command an option for each condition on documents in place of its parameter `filters`."""

with_conditions = _expanded("given", _CONDITIONS, dict)

with_question = _expanded("given", _QUESTION, dict)
