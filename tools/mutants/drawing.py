"""Which mutants there are: one changed operator, number, value or call of the Python code, or one word of an SQL file.

Texts are left alone, since most are messages: string literals, f-strings, docstrings, what is raised or logged. So are
annotations and decorators, and `strict=` of `zip`, which is a check itself.
"""

import ast
import copy
import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

COMPARED = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
}  # fmt: skip
COMPUTED = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
CALLED = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list", "sum": "max"}
SQL = (
    ("<=", "<"), (">=", ">"), ("<>", "="), ("<", "<="), (">", ">="), ("=", "<>"), ("min(", "max("), ("max(", "min("),
    ("sum(", "max("), ("list_sum(", "list_max("), ("least(", "greatest("), ("greatest(", "least("), ("DISTINCT ", ""),
    ("LEFT JOIN", "JOIN"), ("ANTI JOIN", "SEMI JOIN"), ("SEMI JOIN", "ANTI JOIN"), ("UNION ALL", "UNION"),
    ("AND", "OR"), ("OR", "AND"), ("DESC", "ASC"), ("ASC", "DESC"), ("NOT IN", "IN"), ("IS NULL", "IS NOT NULL"),
)  # fmt: skip
NOT_SQL = re.compile(r"--.*|'(?:[^']|'')*'")  # comments and strings


class Mutant(NamedTuple):
    """A change of the bytes `start` to `end` of a file; `place` is its function, `number` tells equal ones apart."""

    path: str
    place: str
    was: str
    now: str
    number: int
    line: int
    start: int
    end: int

    @property
    def key(self) -> str:
        """What stays the same when something else is edited."""
        return f"{self.path} {self.place} {self.number}: {self.was} → {self.now}"

    def applied(self, source: bytes) -> bytes:
        """Return the source of the file with the change."""
        return source[: self.start] + self.now.encode() + source[self.end :]


def draw(root: Path, folders: list[str], number: int, seed: int) -> list[Mutant]:
    """Draw mutants of the files below some folders, each as likely as any other; another edit changes few of them.

    Raises ValueError for a folder without files, which may be misspelt or renamed.
    """
    found = {one: [path for path in (root / one).rglob("*") if path.suffix in (".py", ".sql")] for one in folders}
    if empty := [folder for folder, paths in found.items() if not paths]:
        raise ValueError(f"{', '.join(empty)} has no files to change; name others in FOLDERS")
    files = sorted(path for paths in found.values() for path in paths)
    every = [mutant for path in files for mutant in mutants_of(path.read_bytes(), str(path.relative_to(root)))]
    return sorted(every, key=lambda one: hashlib.sha256(f"{seed} {one.key}".encode()).digest())[:number]


def mutants_of(source: bytes, path: str) -> Iterator[Mutant]:
    """Yield the mutants of a file."""
    seen = Counter[tuple[str, str, str]]()
    for place, start, end, now in _of_python(source) if path.endswith(".py") else _of_sql(source):
        was = source[start:end].decode()
        seen[place, was, now] += 1
        line = source[:start].count(b"\n") + 1
        yield Mutant(path, place, was, now, seen[place, was, now], line, start, end)


def _of_sql(source: bytes) -> Iterator[tuple[str, int, int, str]]:
    # A byte a character, and comments and strings blank, so that every place stays where it is.
    text = NOT_SQL.sub(lambda found: "\0" * len(found[0]), source.decode("latin-1"))
    for was, now in SQL:
        start, end = (r"(?<![\w<>!:=])", r"(?![\w<>=])") if was[-1] not in "( " else (r"(?<!\w)", "")
        for found in re.finditer(start + re.escape(was) + end, text):
            yield "", *found.span(), now
    for found in re.finditer(r"(?<![\w.$])\d+(?![\w.])", text):
        yield "", *found.span(), str(int(found[0]) + 1)


def _of_python(source: bytes) -> Iterator[tuple[str, int, int, str]]:
    lines = [0]
    for line in source.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    for place, node, now in _changes(ast.parse(source), ""):
        start = lines[node.lineno - 1] + node.col_offset
        end = lines[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        yield place, start, end, now


def _changes(node: ast.AST, place: str) -> Iterator[tuple[str, ast.expr | ast.stmt, str]]:
    """Yield the place, a node and the text to put in its stead, for all nodes below one."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        place = f"{place}.{node.name}".lstrip(".")
    for name, below in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for one in below if isinstance(below, list) else [below]:
            if isinstance(one, ast.AST) and not _is_text(one):
                yield from ((place, one, now) for now in _instead(one))  # type: ignore[misc]
                yield from _changes(one, place)


def _is_text(node: ast.AST) -> bool:
    """Say whether a node is a message, or a check that only finds faults of the code itself."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        called = ast.unparse(node.value.func)
        return called.startswith(("_log.", "logging.", "logger."))
    if isinstance(node, ast.keyword):
        return node.arg in ("strict", "description")
    return isinstance(node, ast.JoinedStr | ast.Raise | ast.Assert | ast.Import | ast.ImportFrom)


def _instead(node: ast.AST) -> Iterator[str]:
    """Yield what may stand in the stead of a node."""
    match node:
        case ast.Compare(ops=ops):
            for at, op in enumerate(ops):
                for other in COMPARED[type(op)]:
                    yield _with(node, ops=[*ops[:at], other(), *ops[at + 1 :]])
        case ast.BoolOp(op=op):
            yield _with(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield f"({ast.unparse(operand)})"
        case ast.BinOp(op=op, left=left) if type(op) in COMPUTED and not isinstance(left, ast.Constant | ast.JoinedStr):
            yield _with(node, op=COMPUTED[type(op)]())
        case ast.AugAssign(op=op) if type(op) in COMPUTED:
            changed = copy.copy(node)
            changed.op = COMPUTED[type(op)]()
            yield ast.unparse(changed)
        case ast.Constant(value=bool(value)):
            yield str(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield repr(value + 1)
        case ast.Call(func=ast.Name(id=name)) if name in CALLED:
            yield _with(node, func=ast.Name(CALLED[name], ast.Load()))
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield "return None"
        case ast.Expr(value=ast.Call() | ast.Await(value=ast.Call())):
            yield "pass"
        case ast.Continue():
            yield "break"


def _with(node: ast.expr, **fields: object) -> str:
    """Return the text of an expression some fields of which are others."""
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return f"({ast.unparse(changed)})"
