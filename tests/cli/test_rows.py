"""Names of columns in rows that are printed, and new files."""

from pathlib import Path

import pytest

from lightrag_dagster.cli.rows import _distinct, require_new, write_new
from lightrag_dagster.errors import SettingsError


@pytest.mark.parametrize(
    ("names", "distinct"),
    [
        (["a", "a", "a"], ["a", "a_1", "a_2"]),
        (["a", "a_1", "a"], ["a", "a_1", "a_2"]),
        (["a", "a", "a_1", "b"], ["a", "a_2", "a_1", "b"]),
    ],
)
def test_no_column_takes_the_name_of_another(names: list[str], distinct: list[str]) -> None:
    assert _distinct(names) == distinct


def test_a_new_file_is_tried_without_being_made(tmp_path: Path) -> None:
    file, questions = tmp_path / "new.yaml", ("perhaps with questions", SettingsError, ".yaml", ".yml")
    require_new(file, *questions)
    require_new(tmp_path / "new.yml", *questions)
    assert [*tmp_path.iterdir()] == [], "a kill would leave it empty, and then refused"
    write_new(file, lambda opened: opened.write("- größer\n"), SettingsError)
    assert file.read_bytes() == "- größer\n".encode()
    with pytest.raises(SettingsError, match=r"new.yaml is there already, perhaps with questions, or name another file"):
        require_new(file, *questions)
    with pytest.raises(SettingsError, match="cannot be written: File exists; name another file"):
        write_new(file, lambda opened: opened.write(""), SettingsError)
    for unfit, reason in (
        (tmp_path / "new.jsonl", "would be a YAML file; name it .yaml"),
        (tmp_path, "would be a YAML file; name it .yaml"),
        (tmp_path / "gone" / "new.yaml", "cannot be written; name a file in a folder that is there, and"),
    ):
        with pytest.raises(SettingsError, match=reason):
            require_new(unfit, *questions)
    with pytest.raises(SettingsError, match="cannot be written: File name too long; name another file"):
        write_new(tmp_path / f"{'q' * 300}.yaml", lambda opened: opened.write(""), SettingsError)
