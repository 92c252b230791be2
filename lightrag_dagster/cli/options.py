"""Options that several commands share."""

from typing import Annotated, Literal

import typer

Sources = Annotated[list[str] | None, typer.Option(help="Only this source (repeatable).")]
Snapshot = Annotated[str | None, typer.Option(help="Id or name of a snapshot; the published one unless given.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]
EscapeFormulas = Annotated[
    bool,
    typer.Option(
        "--escape-formulas", help="With --format csv: put ' before text that a spreadsheet would take for a formula."
    ),
]
AcceptDeletes = Annotated[
    bool,
    typer.Option(help="Let sources, or those of --source, lose any number of documents or their text, or be gone."),
]
MaxCost = Annotated[float | None, typer.Option(min=0, help="Stop before spending more than this. US dollars.")]
RowsForm = Annotated[Literal["table", "csv", "json"], typer.Option("--format", help="Output format.")]
