"""Functions of a user: the version is that of their file, which is not run for it."""

import re
from pathlib import Path

import pytest

from lightrag_dagster.core.functions import function_version, load_function
from lightrag_dagster.errors import SettingsError


def test_a_package_that_ends_the_process_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "script_of_a_user").mkdir()
    (tmp_path / "script_of_a_user" / "__init__.py").write_text("import sys\nsys.exit()")
    for use in (load_function, function_version):
        with pytest.raises(SettingsError, match=r"a\.setting script_of_a_user\.module\.cut: SystemExit"):
            use("a.setting", "script_of_a_user.module.cut")


def test_the_version_follows_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    module = tmp_path / "cutting_of_a_user.py"
    module.write_text("raise RuntimeError('not to be run')")
    before = function_version("a.setting", "cutting_of_a_user.cut")
    assert function_version("a.setting", "cutting_of_a_user.cut") == before
    module.write_text("raise RuntimeError('edited')")
    assert function_version("a.setting", "cutting_of_a_user.cut") != before
    for missing in ("no_such_module.cut", "no_such_package.module.cut", "nothing"):
        with pytest.raises(SettingsError, match=re.escape(f"a.setting {missing}: ")):
            function_version("a.setting", missing)
