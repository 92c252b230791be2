from pathlib import Path

import pytest

from lightrag_dagster.errors import SettingsError
from lightrag_dagster.evaluation.questions import read_question_file
from lightrag_dagster.settings import load_settings
from lightrag_dagster.settings.yaml_files import with_value

FILE = Path("lightrag.yaml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("llm: {provider: openai}\nhome: a\nllm: {model: m}\n", "line 3, column 1 of lightrag.yaml: 'llm' is written"),
        (
            "llm:\n  max_cost_usd: 1\n  max_cost_usd: 9\n",
            "line 3, column 3 of lightrag.yaml: 'max_cost_usd' is written",
        ),
        ("named_sources: {a: {uri: x}, a: {uri: y}}\n", "'a' is written twice in one mapping; write it once"),
        ("1: 2\n", "setting 1: lightrag.yaml has this name, which is a number or alike"),
        ("~: 2\n", "setting None: lightrag.yaml has this name"),
        ("llm: {1: 2}\n", "setting llm.1: "),
        ("just text", "lightrag.yaml is not a mapping of settings; write each as `home: data`"),
        ("- a\n- b\n", "lightrag.yaml is not a mapping of settings"),
        ("- [llm, {provider: openai}]\n", "lightrag.yaml is not a mapping of settings"),
        ("0", "lightrag.yaml is not a mapping of settings"),
        ("[]", "lightrag.yaml is not a mapping of settings"),
        ("? [a]\n: b\n", "lightrag.yaml is not valid YAML: line 1"),
        pytest.param("[" * 5000, " of lightrag.yaml: it is nested too deeply", marks=pytest.mark.long),
        ("home: a\nlanguage: 2023-02-30\n", "line 2, column 11 of lightrag.yaml: this cannot be read as timestamp; w"),
        ("language: !!int ''\n", "line 1, column 11 of lightrag.yaml: this cannot be read as int"),
        ("language: !!bool maybe\n", "this cannot be read as bool; write a text in quotes"),
        ("language: !!timestamp today\n", "this cannot be read as timestamp; write a text in quotes"),
        (
            "documents: {accept_deletes: wiki}\n",
            "setting documents.accept_deletes: it is true, false or a list of sources",
        ),
        ("dagster: {fresh_hours: 0.001}\n", "setting dagster.fresh_hours"),
        ("dagster: {fresh_hours: .inf}\n", "setting dagster.fresh_hours"),
    ],
)
@pytest.mark.usefixtures("uncollected")
def test_a_file_that_is_no_mapping_of_settings_is_refused(text: str, said: str) -> None:
    FILE.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError) as refused:
        load_settings()
    assert said in str(refused.value)
    assert "lightrag.yaml" in str(refused.value)


@pytest.mark.parametrize("text", ["", "# nothing\n", "~", "{}"])
def test_a_file_without_settings_is_the_defaults(text: str) -> None:
    FILE.write_text(text, encoding="utf-8")
    assert load_settings().home == Path("data")


def test_merged_mappings_may_be_changed() -> None:
    FILE.write_text("named_sources:\n  a: &a {uri: x, include: [p]}\n  b: {<<: *a, uri: y}\n", encoding="utf-8")
    found = load_settings().named_sources
    assert (found["b"].uri, found["b"].include) == ("y", ("p",))


def test_a_question_with_a_key_twice_is_refused() -> None:
    file = Path("questions.yaml")
    file.write_text("- question: a\n  question: b\n", encoding="utf-8")
    with pytest.raises(SettingsError, match="'question' is written twice"):
        read_question_file(file)


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("", "query:\n  mode: b\n"),
        ("# c\nhome: x", "# c\nhome: x\nquery:\n  mode: b\n"),
        ("home: x\n# end\n", "home: x\n# end\nquery:\n  mode: b\n"),
        ("query:\n    # c\n    top_k: 1  # d\nhome: x\n", "query:\n    # c\n    mode: b\n    top_k: 1  # d\nhome: x\n"),
        ("query:\r\n  mode: 'a'  # c\r\n", "query:\r\n  mode: b  # c\r\n"),
        ("query: {mode: a, top_k: 1}\n", "query: {mode: b, top_k: 1}\n"),
        ("query: {top_k: 1} # c\n", "query: {mode: b, top_k: 1} # c\n"),
        ("{query: {top_k: 1}}", "{query: {mode: b, top_k: 1}}"),
        ("{home: x}", None),
        ("query: {}  # c\n", "query: {mode: b}  # c\n"),
        ("one: &q {}\nquery: *q\n", None),
        ("home: x\r\n", "home: x\r\nquery:\r\n  mode: b\r\n"),
        ("home: x\r\nllm: {}", "home: x\r\nllm: {}\r\nquery:\r\n  mode: b\r\n"),
        ("query:\r\n  top_k: 1\r\n", "query:\r\n  mode: b\r\n  top_k: 1\r\n"),
        ("query:\n", None),
        ("query:\n  ? top_k\n  : 1\n", None),
        ("one: &q {mode: a}\nquery: *q\n", None),
        ("home: x\n...\n", None),
        ("query: &q\n  <<: {top_k: 1}\n", "query: &q\n  mode: b\n  <<: {top_k: 1}\n"),
    ],
)
def test_a_value_is_written_and_all_else_stays(text: str, made: str | None) -> None:
    assert with_value(text, "query", "mode", "b") == made
