"""spaCy pipelines as a source of names: their identity, their labels, and what is wrong with a folder."""

import asyncio
import pickle
import shutil
import sys
from pathlib import Path

import pytest

from lightrag_dagster.errors import SettingsError
from lightrag_dagster.models.local.pipelines import load_pipeline, pipeline_identity
from lightrag_dagster.models.rules import NameFinder
from tests.models.local.pipelines import make_package, make_pipeline

PATTERNS = {"blue lamp": "PRODUCT", "north ward": "FAC", "cresol": "REAGENT", "may": "DATE", "Tollgate": "MISC"}
TEXT = "In May the blue lamp of the North Ward was cleaned with cresol for Tollgate."


def found(model: Path | str, *texts: str) -> list[list[tuple[str, str]]]:
    """Return name and type of what a pipeline finds in each text."""
    spans = load_pipeline(str(model), pipeline_identity(str(model)))(texts)
    return [[(text[one.start : one.end], one.type) for one in row] for text, row in zip(texts, spans, strict=True)]


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_pipeline(tmp_path_factory.mktemp("models") / "lab", PATTERNS)


@pytest.mark.long
def test_labels_are_types_or_become_those_and_dates_are_left_out(pipeline: Path) -> None:
    expected = [("blue lamp", "artifact"), ("North Ward", "location"), ("cresol", "reagent"), ("Tollgate", "other")]
    assert found(pipeline, TEXT, "Nothing is named.") == [expected, []]


@pytest.mark.long
def test_names_lead_where_the_rules_know_no_words(tmp_path: Path) -> None:
    text = "Hier sprak Corley Bridge."
    leads = []
    for language in ("en", "de", "nl", "xx"):
        model = str(make_pipeline(tmp_path / language, {"Corley": "PER"}, language=language))
        leads += [span.leads for [span] in load_pipeline(model, pipeline_identity(model))([text])]
    assert leads == [False, False, True, True]


@pytest.mark.long
def test_a_text_of_another_language_is_not_read(tmp_path: Path, pipeline: Path) -> None:
    german = "Die Lampe wurde im Frühjahr gereinigt, und cresol war dafür das beste Mittel, das wir hatten."
    assert found(pipeline, german) == [[]]
    assert found(pipeline, "cresol") == [[("cresol", "reagent")]]  # too short to tell its language
    assert found(make_pipeline(tmp_path / "any", PATTERNS, language="xx"), german) == [[("cresol", "reagent")]]
    assert found(make_pipeline(tmp_path / "german", PATTERNS, language="de"), german) == [[("cresol", "reagent")]]


@pytest.mark.long
def test_the_identity_follows_the_files_and_not_the_place(tmp_path: Path, pipeline: Path) -> None:
    identity = pipeline_identity(str(pipeline))
    assert identity.startswith("spacy/lab@")
    copy = Path(shutil.copytree(pipeline, tmp_path / "lab"))
    (copy / "README.md").write_text("A pipeline.")
    assert pipeline_identity(str(copy)) == identity
    assert pipeline_identity(str(make_pipeline(tmp_path / "other" / "lab", {"cresol": "REAGENT"}))) != identity
    with pytest.raises(SettingsError, match=r"is not spacy/lab@0000; copy the same pipeline or table to every machine"):
        load_pipeline(str(copy), "spacy/lab@0000")


@pytest.mark.long
def test_an_installed_package_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in make_package(tmp_path, "en_lab", PATTERNS):
        monkeypatch.syspath_prepend(folder)
    assert found("en_lab", "It was cresol.") == [[("cresol", "reagent")]]
    assert pipeline_identity("en_lab") == pipeline_identity(str(tmp_path / "en_lab" / "en_lab-1.0.0"))


@pytest.mark.long
def test_components_that_find_no_names_are_not_loaded(tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy")
    pipeline = spacy.blank("en")
    pipeline.add_pipe("tagger").add_label("NN")
    pipeline.add_pipe("ner", config={"model": {"tok2vec": {"width": 8, "embed_size": 50}}}).add_label("ORG")
    pipeline.initialize()
    pipeline.to_disk(tmp_path / "trained")
    shutil.rmtree(tmp_path / "trained" / "tagger")
    assert len(found(tmp_path / "trained", TEXT)) == 1


def test_what_is_no_pipeline_is_named_with_the_next_step(tmp_path: Path, pipeline: Path) -> None:
    (tmp_path / "empty").mkdir()
    for model in (tmp_path / "nowhere", tmp_path / "empty", "en_nowhere", "not/a name"):
        with pytest.raises(SettingsError, match=r"extraction\.names_model: .* is neither .* `python -m spacy download"):
            NameFinder(pipeline=str(model))
    broken = Path(shutil.copytree(pipeline, tmp_path / "broken"))
    (broken / "config.cfg").write_text("[nlp]\nlang = 'en'\n")
    with pytest.raises(SettingsError, match=r"broken cannot be loaded: .*; make or download it again"):
        found(broken, TEXT)
    spacy = pytest.importorskip("spacy")
    nameless = spacy.blank("en")
    nameless.add_pipe("sentencizer")
    nameless.to_disk(tmp_path / "nameless")
    with pytest.raises(SettingsError, match=r"nameless has no component that finds names"):
        found(tmp_path / "nameless", TEXT)


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch, pipeline: Path) -> None:
    identity = pipeline_identity(str(pipeline))  # asks for no library
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(SettingsError, match=r"needs spacy; `pip install lightrag-dagster\[names\]`"):
        load_pipeline(str(pipeline), identity)


def test_a_finder_is_sent_to_workers_by_the_path_of_its_pipeline(pipeline: Path) -> None:
    from lightrag_dagster.core.protocols import ChatRequest, Message

    finder = NameFinder(pipeline=str(pipeline))
    sent = pickle.dumps(finder.open)
    assert len(sent) < 1000
    request = ChatRequest("extract", (Message("user", f"Text:\n```\n{TEXT}\n```"),))

    async def ask() -> str:
        async with pickle.loads(sent)() as model:
            assert model.identity == finder.identity
            return str((await model.complete(request)).text)

    answer = asyncio.run(ask())
    assert "blue lamp" in answer
    assert "reagent" in answer
