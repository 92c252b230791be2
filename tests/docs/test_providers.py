import re
from pathlib import Path

import pytest
import yaml

from lightrag_dagster.settings import load_settings

PAGE = Path(__file__).parents[2] / "docs" / "providers.md"
EXAMPLES = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_there_is_an_example_for_each_provider_and_for_roles() -> None:
    assert len(EXAMPLES) == 7


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_a_usable_configuration(example: str) -> None:
    Path("lightrag.yaml").write_text(example, encoding="utf-8")

    settings = load_settings()

    given = yaml.safe_load(example)
    assert settings.llm.provider != "offline"
    assert all(getattr(settings.llm, name) == value for name, value in given["llm"].items() if name != "roles")
