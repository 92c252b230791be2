from collections.abc import Iterator
from pathlib import Path

import pytest

from lightrag_dagster.core.installed import InstalledError, installed
from tests.packages import install

GROUP = "lightrag_dagster.tried"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of packages, looked up anew."""
    monkeypatch.syspath_prepend(tmp_path)
    installed.cache_clear()
    yield tmp_path
    installed.cache_clear()


def test_functions_are_found_by_name_and_imported_at_their_use(site: Path) -> None:
    install(
        site, "tried-one", "1.0", {GROUP: {".ABC": "json:dumps", "gone": "no_such_module:read"}, "others": {"x": "y"}}
    )
    assert {name: str(one) for name, one in installed(GROUP).items()} == {
        "abc": ".ABC = json:dumps of tried-one 1.0",
        "gone": "gone = no_such_module:read of tried-one 1.0",
    }
    assert installed(GROUP)["abc"].call([1]) == "[1]"
    assert installed(GROUP + ".nothing") == {}


@pytest.mark.parametrize(
    ("points", "reason"),
    [
        ("no_such_module:read", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("json:no_such_name", "AttributeError: module 'json' has no attribute 'no_such_name'"),
        ("tried_module:read", "RuntimeError: two lines"),
        ("sys:exit", "SystemExit: [1]"),
        ("json:loads", "TypeError: the JSON object must be str, bytes or bytearray, not list"),
    ],
)
def test_what_cannot_be_imported_or_called_is_one_line_with_its_name(site: Path, points: str, reason: str) -> None:
    (site / "tried_module.py").write_text("raise RuntimeError('two\\nlines')")
    install(site, "tried", "1.0", {GROUP: {"abc": points}})
    with pytest.raises(InstalledError) as raised:
        installed(GROUP)["abc"].call([1])
    assert str(raised.value) == f"abc = {points} of tried 1.0 failed: {reason}"


def test_neither_of_two_packages_is_preferred(site: Path) -> None:
    for name in ("tried-b", "tried-a"):
        install(site, name, "1.0", {GROUP: {"abc": "json:dumps"}})
    with pytest.raises(InstalledError) as raised:
        installed(GROUP)["abc"].call([1])
    assert str(raised.value) == (
        "several packages bring abc = json:dumps of tried-a 1.0 and abc = json:dumps of tried-b 1.0; keep one of them"
    )
