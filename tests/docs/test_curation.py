import re
from pathlib import Path

from lightrag_dagster.curation.rules.decisions import ACTIONS
from lightrag_dagster.curation.rules.files import read_files
from lightrag_dagster.curation.rules.resolving import resolve
from lightrag_dagster.settings import load_settings

PAGE = (Path(__file__).parents[2] / "docs" / "curation.md").read_text(encoding="utf-8")
DECISIONS, TYPES = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


def test_the_example_of_a_file_is_usable(tmp_path: Path) -> None:
    (tmp_path / "names.yaml").write_text(DECISIONS, encoding="utf-8")
    found = read_files(tmp_path / "names.yaml")
    assert len(found) == DECISIONS.count("\n- ")
    assert len(resolve(found).splits) == 1


def test_the_example_of_types_is_a_usable_configuration() -> None:
    Path("lightrag.yaml").write_text(TYPES, encoding="utf-8")
    assert load_settings().merging.types.map["org"] == "organization"


def test_every_kind_of_decision_is_told_of() -> None:
    assert [action for action in ACTIONS if f"\n| `curate {action} NAME" not in PAGE] == []
