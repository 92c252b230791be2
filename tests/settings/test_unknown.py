from pathlib import Path

import pytest

from lightrag_dagster.errors import SettingsError
from lightrag_dagster.settings import load_settings

SEE = "lightrag.yaml and LIGHTRAG_… variables"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("query: {prefers: newest}", f"setting query.prefers does not exist; did you mean query.prefer? See {SEE}"),
        ("quary: {prefer: newest}", f"setting quary does not exist; did you mean query? See {SEE}"),
        ("query: {xyz: 1}", f"setting query.xyz does not exist; see {SEE}"),
        (
            "named_sources: {query: {uri: x, includes: [a]}}",
            f"setting named_sources.query.includes does not exist; did you mean named_sources.query.include? See {SEE}",
        ),
        (
            "chunking: {rules: [{path: a, sise: 9}]}",
            f"setting chunking.rules.0.sise does not exist; did you mean chunking.rules.0.size? See {SEE}",
        ),
    ],
)
def test_the_nearest_setting_of_the_section_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("lightrag.yaml").write_text(written)
    with pytest.raises(SettingsError) as refused:
        load_settings()
    assert str(refused.value) == said


def test_a_change_names_the_nearest_too() -> None:
    with pytest.raises(SettingsError, match=r"^setting query\.prefers does not exist; did you mean query\.prefer\?$"):
        load_settings().changed(query={"prefers": "newest"})
