import pytest

from lightrag_dagster.core.globs import matches


@pytest.mark.parametrize(
    ("path", "glob", "expected"),
    [
        ("s/a.md", "s/*.md", True),
        ("s/b/a.md", "s/*.md", False),
        ("s/b/c/a.md", "s/**/*.md", True),
        ("s/a.md", "s/**/*.md", True),
        ("s/a.md", "**", True),
        ("s/a.MD", "**/*.md", False),
        ("s/b/a.md", "s/b", False),
        ("s/[1].md", "s/[[]1].md", True),
        ("s/e\u0301te\u0301.md", "s/\u00e9t*.md", True),
        ("s/\u00e9t\u00e9.md", "s/e\u0301t?.md", True),
    ],
)
def test_matches(path: str, glob: str, expected: bool) -> None:
    assert matches(path, glob) is expected
