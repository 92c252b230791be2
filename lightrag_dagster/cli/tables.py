"""The one table printer of the command line: text wraps, numbers never break."""

from collections.abc import Collection, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lightrag_dagster.cli.terminal import visible

_BORDER = 3
"""Characters that a column adds beside its content: a line and a space on each side."""
_NARROWEST_TEXT = 10


def print_table(
    console: Console,
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    wrap: Collection[str] = (),
    title: str | None = None,
    bold_last: bool = False,
    keys: int = 0,
) -> None:
    """Print rows as a table, where the terminal is too narrow for the columns as several, or one field a line.

    Args:
        console: The console to print to.
        columns: Headings, which wrap between words where they must.
        rows: One value a column; None is printed as nothing, everything else by `str`.
        wrap: The columns of text, aligned left and wrapped where they must be. All others are never broken; they are
            aligned right, or left if all of their cells begin with a letter, as ids do.
        title: Printed above the table.
        bold_last: Print the last row, a total, in bold.
        keys: The number of the first columns that say what a row is: each of several tables has them, aligned left.
    """
    cells = [["" if value is None else visible(str(value)) for value in row] for row in rows]
    widths = [_narrowest([row[at] for row in cells], name, wraps=name in wrap) for at, name in enumerate(columns)]
    room = console.width - _BORDER * len(widths) - 1
    whole = [max(width, cell_len(name)) for width, name in zip(widths, columns, strict=True)]
    if sum(whole) <= room:
        widths = whole
    if sum(widths) > room:
        blocks = _blocks(widths, keys, console.width - 1) if keys else []
        for number, block in enumerate(blocks):
            shown = [columns[at] for at in block]
            some = [[row[at] for at in block] for row in rows]
            first = None if number else title
            print_table(console, shown, some, wrap=wrap, title=first, bold_last=bold_last, keys=keys)
        if not blocks:
            _print_records(console, columns, cells, title)
        return
    table = Table(title=title, title_justify="left")
    for at, (name, width) in enumerate(zip(columns, widths, strict=True)):
        if name in wrap:
            table.add_column(Text(name), overflow="fold")
        else:
            ids = at < keys or all(row[at][:1].isalpha() for row in cells)
            table.add_column(
                Text(_wrapped(name, width)), justify="left" if ids else "right", no_wrap=True, min_width=width
            )
    for at, row in enumerate(cells):
        table.add_row(*(Text(cell) for cell in row), style="bold" if bold_last and at == len(cells) - 1 else "")
    console.print(table, soft_wrap=False)


def _blocks(widths: Sequence[int], keys: int, room: int) -> list[list[int]]:
    """Return the columns of each of several tables that fit; none if a column does not, even beside the keys alone."""
    first, left = list(range(keys)), room - sum(widths[:keys]) - _BORDER * keys
    blocks, free = list[list[int]](), 0
    for at, width in enumerate(widths[keys:], keys):
        if width + _BORDER > left:
            return []
        if width + _BORDER > free:
            blocks.append([*first])
            free = left
        blocks[-1].append(at)
        free -= width + _BORDER
    return blocks


def _narrowest(cells: Sequence[str], name: str, *, wraps: bool) -> int:
    """Return the smallest width at which a column can be read."""
    words = max((cell_len(word) for word in name.split()), default=0)
    content = max((cell_len(line) for cell in cells for line in cell.splitlines()), default=0)
    return max(words, min(content, _NARROWEST_TEXT) if wraps else content)


def _wrapped(heading: str, width: int) -> str:
    """Break a heading between words, so that no line is wider than its column."""
    lines: list[str] = []
    for word in heading.split():
        if lines and cell_len(lines[-1]) + 1 + cell_len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return "\n".join(lines)


def _print_records(console: Console, columns: Sequence[str], cells: Sequence[Sequence[str]], title: str | None) -> None:
    if title:
        console.print(Text(title, style="italic"))
    width = max(cell_len(name) for name in columns)
    for at, row in enumerate(cells):
        if at:
            console.print()
        for name, cell in zip(columns, row, strict=True):
            padding = " " * (width - cell_len(name) + 2)
            # The terminal itself breaks a line that is too long, so that copying it gives the whole value.
            console.print(Text.assemble((name, "bold"), padding, cell), soft_wrap=True)
