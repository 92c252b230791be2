from pathlib import Path

import pytest

from lightrag_dagster.errors import SettingsError
from lightrag_dagster.evaluation.questions import read_question_file
from lightrag_dagster.settings import load_settings, set_in_file
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
        pytest.param("[" * 5000, "lightrag.yaml is nested too deeply", marks=pytest.mark.long),
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
    ("before", "after"),
    [
        ("", "query:\n  mode: bm25\n"),
        ("# mine\nhome: data\n", "# mine\nhome: data\n\nquery:\n  mode: bm25\n"),
        ("query:\n  # how\n  mode: mix  # why\nhome: data\n", "query:\n  # how\n  mode: bm25  # why\nhome: data\n"),
        ("query:\n    # how\n    top_k: 3\n", "query:\n    # how\n    mode: bm25\n    top_k: 3\n"),
        ("query: {top_k: 3} # why\n", "query: {mode: bm25, top_k: 3} # why\n"),
        ("query: {mode: 'mix'}\n", "query: {mode: bm25}\n"),
        ("query:\n  mode:\n  top_k: 3\n", "query:\n  mode: bm25\n  top_k: 3\n"),
        ("query: {}\n", "query: \n  mode: bm25\n"),
        ("query:\nhome: data\n", "query:\n  mode: bm25\nhome: data\n"),
    ],
)
def test_a_value_is_changed_and_all_else_stays(before: str, after: str) -> None:
    assert with_value(before, "query", "mode", "bm25") == after


@pytest.mark.parametrize("text", ["{home: data}", "a: &q {mode: mix}\nquery: *q\n", "query: 3\n", "[1]\n"])
def test_a_form_that_cannot_be_changed_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match=r"set query\.mode: bm25 by hand"):
        with_value(text, "query", "mode", "bm25")


def test_the_settings_file_is_made_or_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set_in_file("query", "mode", "naive") == FILE
    assert load_settings().query.mode == "naive"
    FILE.write_text("query:\n  mode: mix  # ours\n")
    set_in_file("query", "mode", "bm25")
    assert FILE.read_text() == "query:\n  mode: bm25  # ours\n"
    FILE.write_bytes(b"home: data\r\nquery:\r\n  mode: mix\r\n")
    set_in_file("query", "mode", "bm25")
    assert FILE.read_bytes() == b"home: data\r\nquery:\r\n  mode: bm25\r\n"
    for mistake in ("llm: {api_key: secret\n", "query: {mode: mix, nosuch: 1}\n"):
        FILE.write_text(mistake)
        with pytest.raises(SettingsError) as refused:
            set_in_file("query", "mode", "bm25")
        assert "secret" not in str(refused.value)
        assert FILE.read_text() == mistake
    FILE.write_text("")
    monkeypatch.setenv("LIGHTRAG_QUERY__MODE", "mix")
    with pytest.raises(SettingsError, match="LIGHTRAG_… variable or option another; unset that"):
        set_in_file("query", "mode", "naive")


def test_a_settings_file_that_cannot_be_written_stays(tmp_path: Path) -> None:
    kept = tmp_path / "kept.yaml"
    kept.write_text("query: {mode: mix}\n")
    FILE.symlink_to(kept)
    set_in_file("query", "mode", "naive")
    assert (FILE.is_symlink(), kept.read_text()) == (True, "query: {mode: naive}\n")
    (tmp_path / ".kept.yaml.new").mkdir()
    with pytest.raises(SettingsError, match=r"query\.mode: bm25 cannot be written to lightrag\.yaml"):
        set_in_file("query", "mode", "bm25")
    assert kept.read_text() == "query: {mode: naive}\n"
