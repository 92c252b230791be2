"""Settings that were renamed or removed: they are read for one more version, with a warning."""

import tomllib
import warnings
from pathlib import Path

import pytest

from lightrag_dagster.errors import SettingsError
from lightrag_dagster.settings import LLMSettings, Settings, former, load_settings
from lightrag_dagster.settings.former import FORMER, Former
from tools.settings_page import leaves

PROJECT = Path(__file__).parents[1] / "pyproject.toml"

RENAMED = (
    Former("llm.wait", "llm.timeout", "write `timeout`", "9.0.0"),
    Former("folder", "home", "write `home`", "9.0.0"),
    Former("output.language", "language", "write `language`", "9.0.0"),
    Former("graph.pages", None, "leave it out; there are no pages any more", "9.0.0"),
)
"""Renamed within a section, at the top, and out of a section that is gone; and removed."""


@pytest.fixture
def renamed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(former, "FORMER", RENAMED)


def test_a_former_name_is_read_with_a_warning_that_says_what_to_write() -> None:
    Path("lightrag.yaml").write_text("named_sources:\n  wiki: {uri: x, glob: '*.md'}\n  notes: {uri: y}\n")
    message = (
        r"setting named_sources\.wiki\.glob is called named_sources\.wiki\.include now; "
        r"write `include: \[.*`; version 0\.2\.0 no longer reads it"
    )
    with pytest.warns(FutureWarning, match=message) as warned:
        sources = load_settings().named_sources
    assert len(warned) == 1
    assert (sources["wiki"].include, sources["notes"].include) == (("*.md",), ("**/*",))


@pytest.mark.usefixtures("renamed")
def test_names_within_a_section_at_the_top_and_of_a_section_that_is_gone() -> None:
    Path("lightrag.yaml").write_text("folder: there\nllm: {wait: 5}\noutput: {language: Danish}\ngraph: {pages: 7}\n")
    with pytest.warns(FutureWarning) as warned:
        settings = load_settings()
    assert (settings.home, settings.llm.timeout, settings.language) == (Path("there"), 5.0, "Danish")
    assert {str(one.message).split(";")[0] for one in warned} == {
        "setting llm.wait is called llm.timeout now",
        "setting folder is called home now",
        "setting output.language is called language now",
        "setting graph.pages was removed",
    }


@pytest.mark.usefixtures("renamed")
@pytest.mark.parametrize(
    ("variable", "value"),
    [("FOLDER", "there"), ("LLM__WAIT", "5"), ("OUTPUT__LANGUAGE", "Danish"), ("GRAPH__PAGES", "7")],
)
def test_former_names_of_variables(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    monkeypatch.setenv(f"LIGHTRAG_{variable}", value)
    with pytest.warns(FutureWarning, match="; version 9"):
        settings = load_settings()
    found = {"FOLDER": settings.home, "LLM__WAIT": settings.llm.timeout, "OUTPUT__LANGUAGE": settings.language}
    assert str(found.get(variable, value)).removesuffix(".0") == value


@pytest.mark.usefixtures("renamed")
def test_todays_name_wins_over_the_former_one(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("lightrag.yaml").write_text("llm: {timeout: 6}\n")
    monkeypatch.setenv("LIGHTRAG_LLM__WAIT", "5")
    with pytest.warns(FutureWarning, match=r"llm\.wait"):
        assert load_settings().llm.timeout == 6


@pytest.mark.usefixtures("renamed")
def test_a_section_given_as_an_object_wins() -> None:
    Path("lightrag.yaml").write_text("llm: {wait: 5}\n")
    with pytest.warns(FutureWarning, match=r"llm\.wait"):
        assert load_settings(rerank={"timeout": 4}, llm={"model": "m"}).llm.timeout == 5
    assert load_settings(llm=LLMSettings(timeout=6)).llm.timeout == 6


@pytest.mark.usefixtures("renamed")
def test_former_names_in_python() -> None:
    given = {"llm": {"wait": 5}}
    with pytest.warns(FutureWarning, match=r"llm\.wait"):
        assert load_settings(**given).llm.timeout == 5
    with pytest.warns(FutureWarning, match=r"llm\.wait"):
        assert load_settings().changed(**given).llm.timeout == 5
    assert given == {"llm": {"wait": 5}}


@pytest.mark.usefixtures("renamed")
def test_no_warning_without_a_former_name_and_none_shows_a_value(monkeypatch: pytest.MonkeyPatch) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_settings(home=Path("x"), llm={"timeout": 5})
    monkeypatch.setenv("LIGHTRAG_FOLDER", "hush-word")
    with pytest.warns(FutureWarning) as warned:
        load_settings()
    assert "hush-word" not in str(warned[0].message)


def test_an_unknown_name_stays_an_error() -> None:
    Path("lightrag.yaml").write_text("named_sources:\n  wiki: {uri: x, globs: '*.md'}\n")
    with pytest.raises(SettingsError, match=r"named_sources\.wiki\.globs"):
        load_settings()


def test_a_former_name_is_dropped_with_the_version_that_no_longer_reads_it() -> None:
    version = tomllib.loads(PROJECT.read_text("utf-8"))["project"]["version"]
    numbers = [tuple(map(int, text.split("."))) for text in (version, *(one.until for one in FORMER))]
    assert [until for until in numbers[1:] if until <= numbers[0]] == []


def test_every_former_name_leads_to_a_setting() -> None:
    names = {leaf.name for leaf in leaves(Settings)}
    assert {one.now.replace("*", "<name>") for one in FORMER if one.now} <= names
    assert {one.name.replace("*", "<name>") for one in FORMER}.isdisjoint(names)
