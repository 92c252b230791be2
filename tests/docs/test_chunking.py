import re
from pathlib import Path

import pytest

from lightrag_dagster.settings import load_settings
from lightrag_dagster.stages.chunking.methods import METHODS

PAGE = (Path(__file__).parents[2] / "docs" / "chunking.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("example", re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))
def test_an_example_is_a_usable_configuration(example: str) -> None:
    Path("lightrag.yaml").write_text(example, encoding="utf-8")
    assert load_settings().chunking.rules


def test_the_function_cuts_at_clauses() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    module: dict[str, object] = {}
    exec(example, module)
    by_clause = module["by_clause"]
    assert callable(by_clause)
    text = "Contract\n§ 1 One.\n§2 Two."
    assert [text[start:end] for start, end in by_clause(text, 1200, 0, len)] == ["Contract\n", "§ 1 One.\n", "§2 Two."]


def test_every_method_is_told_of() -> None:
    assert [method for method in METHODS if f"\n| `{method}` | " not in PAGE] == []
