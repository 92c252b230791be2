"""Functions of a user: the version is that of their file, which is not run for it."""

import re
from pathlib import Path

import pytest

from lightrag_dagster.core.functions import function_version
from lightrag_dagster.errors import SettingsError


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
