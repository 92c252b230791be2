"""The mutants of a source, and that each of them is another program."""

import ast
from pathlib import Path

import pytest

from tools.mutants.__main__ import FOLDERS
from tools.mutants.drawing import draw, mutants_of

ROOT = Path(__file__).parents[3]


def changes(source: str, path: str = "a.py") -> list[str]:
    return [f"{one.was} → {one.now}" for one in mutants_of(source.encode(), path)]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("a < b", ["a < b → (a <= b)", "a < b → (a >= b)"]),
        ("a == b != c", ["a == b != c → (a != b != c)", "a == b != c → (a == b == c)"]),
        ("a is None", ["a is None → (a is not None)"]),
        ("a and not b", ["a and not b → (a or not b)", "not b → (b)"]),
        ("x = -y + 3", ["-y + 3 → (-y - 3)", "-y → (y)", "3 → 4"]),
        ("x += 1", ["x += 1 → x -= 1", "1 → 2"]),
        ("x = True", ["True → False"]),
        ("x = min(y)", ["min(y) → (max(y))"]),
        ("x = sorted(y, reverse=True)", ["sorted(y, reverse=True) → (list(y, reverse=True))", "True → False"]),
        ("def f(a: int = 1) -> int:\n    return a", ["1 → 2", "return a → return None"]),
        ("f(x)", ["f(x) → pass"]),
        ("for x in y:\n    continue", ["continue → break"]),
        ("s[1:]", ["1 → 2"]),
        # Texts, checks, annotations and decorators are left alone.
        ('"""A text of 3."""', []),
        ('raise E(f"{3:.1%} of {a + b}", 1 < 2)', []),
        ("_log.warning(1)", []),
        ("x = zip(a, b, strict=True)", []),
        ("x: Literal[1]", []),
        ("@d(frozen=True)\nclass A:\n    x: int", []),
        ("import a", []),
        ("return_nothing = None", []),
    ],
)
def test_what_may_be_changed_in_python(source: str, found: list[str]) -> None:
    assert changes(source) == found


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("WHERE a <= 1", ["<= → <", "1 → 2"]),
        ("WHERE a <> b OR a < c", ["<> → =", "< → <=", "OR → AND"]),
        ("SELECT sum(a), count(DISTINCT b)", ["sum( → max(", "DISTINCT  → "]),
        ("list_sum(x ORDER BY y DESC)", ["list_sum( → list_max(", "DESC → ASC"]),
        ("LEFT JOIN t UNION ALL", ["LEFT JOIN → JOIN", "UNION ALL → UNION"]),
        ("-- less < more, AND 3\nx ~ 'é AND 1' AND y", ["AND → OR"]),
        ("row_number() - column2", []),
        ("name := x", []),
    ],
)
def test_what_may_be_changed_in_sql(source: str, found: list[str]) -> None:
    assert changes(source, "a.sql") == found


@pytest.mark.long
def test_every_mutant_of_a_folder_is_another_program_with_a_name_of_its_own() -> None:
    drawn = draw(ROOT, ["lightrag_dagster/query", "lightrag_dagster/pipeline/sql"], 10_000, 1)
    assert len({one.key for one in drawn}) == len(drawn) > 500
    for one in drawn[::10]:
        source = (ROOT / one.path).read_bytes()
        assert source[one.start : one.end].decode() == one.was
        assert source.splitlines()[one.line - 1].decode().strip()
        if one.path.endswith(".py"):
            assert ast.dump(ast.parse(one.applied(source))) != ast.dump(ast.parse(source))


def test_the_draw_is_the_same_every_time_and_follows_edits(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.py").write_text("".join(f"def f{n}(x):\n    return x + {n}\n" for n in range(20)))
    first = draw(tmp_path, ["."], 20, 1)
    assert draw(tmp_path, ["."], 20, 1) == first
    assert draw(tmp_path, ["."], 20, 2) != first
    (tmp_path / "a.py").write_text("import os\n\n" + (tmp_path / "a.py").read_text() + "def g(x):\n    return -x\n")
    again = draw(tmp_path, ["."], 20, 1)
    assert len({one.key for one in again} & {one.key for one in first}) >= 18


def test_every_folder_has_files_and_one_without_is_refused(tmp_path: Path) -> None:
    for folder in FOLDERS:
        assert draw(ROOT, [folder], 1, 0), folder
    with pytest.raises(ValueError, match="build has no files"):
        draw(tmp_path, ["build"], 1, 0)
