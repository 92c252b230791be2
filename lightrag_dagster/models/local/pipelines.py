"""Pipelines of spaCy that find names: their folder, a hash of their files, and their labels as types of entities.

spaCy is imported only when a pipeline is loaded, since every command asks for the hash.
"""

import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from lightrag_dagster.errors import SettingsError
from lightrag_dagster.models.local.files import hash_of
from lightrag_dagster.models.local.known_names import is_table, read_known_names
from lightrag_dagster.models.local.loading import explaining
from lightrag_dagster.offline import OTHER, NameSpan, Recogniser
from lightrag_dagster.readers import detect_language

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

_NAMELESS = (
    *("tagger", "morphologizer", "parser", "senter", "sentencizer", "attribute_ruler", "lemmatizer"),
    *("trainable_lemmatizer", "textcat", "textcat_multilabel"),
)
"""Components that find no names. They are left out, except before rulers, whose patterns may need their results."""

_RULERS = ("entity_ruler", "span_ruler")
_SHARED = ("tok2vec", "transformer", "curated_transformer")
_ANY_LANGUAGE = "xx"
_LANGUAGES = {"nb": "no"}
"""Codes of spaCy that the detector of languages does not know."""

_OF_RULES = ("en", "de")
"""Languages whose words the rules know; in others the names of a pipeline lead."""

_TYPES = {
    **dict.fromkeys(("person", "per", "prs", "persname", "ps"), "person"),
    **dict.fromkeys(("org", "organization", "orgname", "og"), "organization"),
    **dict.fromkeys(
        ("gpe", "loc", "fac", "location", "facility", "placename", "geogname", "gpe_loc", "lc"), "location"
    ),
    **dict.fromkeys(("event", "evt", "evn"), "event"),
    **dict.fromkeys(("product", "prod", "obj"), "artifact"),
    **dict.fromkeys(("work_of_art", "wrk", "law"), "content"),
    **dict.fromkeys(("norp", "nat_rel_pol", "language"), "concept"),
    **dict.fromkeys(("misc", "entity"), OTHER),
    "gpe_org": "organization",
}
"""The type of each label of spaCy's own pipelines, in lower case; another label is a type itself."""

_MEASURES = (
    *("date", "time", "percent", "money", "quantity", "ordinal", "cardinal", "datetime", "period", "numeric_value"),
    *("msr", "tme", "dt", "ti", "qt"),
)
"""Labels of dates and amounts, which are left out."""


def find_pipeline(model: str) -> Path:
    """Return the folder of a pipeline, given that folder or the name of the package it was installed as.

    Raises:
        SettingsError: there is no such pipeline on this machine.
    """
    folder = Path(model).expanduser()
    if not _is_pipeline(folder) and model.isidentifier() and (package := find_spec(model)) and package.origin:
        folder = next(filter(_is_pipeline, Path(package.origin).parent.iterdir()), folder)
    if not _is_pipeline(folder):
        raise SettingsError(
            f"setting extraction.names_model: {model} is neither the folder of a spaCy pipeline, with config.cfg and "
            "meta.json, nor the name of one that is installed; correct it, or install one: "
            "`python -m spacy download en_core_web_sm`"
        )
    return folder


def _is_pipeline(folder: Path) -> bool:
    return (folder / "config.cfg").is_file() and (folder / "meta.json").is_file()


def pipeline_identity(model: str) -> str:
    """Name a pipeline and a hash of its files; only the name of its folder counts, not the path; or a table of names.

    Raises:
        SettingsError: it is not on this machine.
    """
    if is_table(model):
        return f"table/{Path(model).name}@{hash_of(Path(model).expanduser().parent, [_table(model)])}"
    folder = find_pipeline(model)
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".md")
    return f"spacy/{folder.resolve().name}@{hash_of(folder, files)}"


def _table(model: str) -> Path:
    file = Path(model).expanduser()
    if not file.is_file():
        raise SettingsError(f"setting extraction.names_model: there is no table {model}; correct its path")
    return file


def load_pipeline(model: str, identity: str) -> Recogniser:
    """Load a pipeline, or a table of known names.

    Texts of another language than the pipeline's are not shown to it: it would take their common words for names.

    Raises:
        SettingsError: it is not on this machine, has other files here than `identity` names, finds no names, cannot be
            loaded, or spaCy is not installed.
    """
    if pipeline_identity(model) != identity:
        raise SettingsError(
            f"setting extraction.names_model: {model} on {os.uname().nodename} is not {identity}; copy the same "
            "pipeline or table to every machine, and run again"
        )
    if is_table(model):
        return read_known_names(_table(model))
    folder = find_pipeline(model)
    with explaining(f"setting extraction.names_model: {folder}", "`pip install lightrag-dagster[names]`"):
        return _Names(_load(folder))


def _load(folder: Path) -> "Language":
    import spacy

    components = spacy.util.load_config(folder / "config.cfg")["components"]
    factories = {name: str(component.get("factory")) for name, component in components.items()}
    if set(factories.values()) <= {*_NAMELESS, *_SHARED}:
        raise SettingsError(
            f"setting extraction.names_model: {folder} has no component that finds names, such as `ner` or "
            "`entity_ruler`; use another pipeline"
        )
    ruled = not set(factories.values()).isdisjoint(_RULERS)
    return spacy.load(folder, exclude=[] if ruled else [name for name, one in factories.items() if one in _NAMELESS])


class _Names:
    """A `Recogniser` for the sentences of a text."""

    def __init__(self, pipeline: "Language") -> None:
        self._pipeline = pipeline
        language = str(pipeline.lang)
        self._language = _LANGUAGES.get(language, language)
        self._leads = language not in _OF_RULES

    def __call__(self, texts: Sequence[str]) -> list[list[NameSpan]]:
        language = None if self._language == _ANY_LANGUAGE else detect_language(" ".join(texts))
        if language not in (None, self._language):
            return [[] for _ in texts]
        with self._pipeline.memory_zone():  # otherwise every new word stays in memory
            return [self._spans(document) for document in self._pipeline.pipe(texts)]

    def _spans(self, document: "Doc") -> list[NameSpan]:
        labelled = ((one, one.label_.casefold()) for one in document.ents)
        return [
            NameSpan(one.start_char, one.end_char, _TYPES.get(label, label), self._leads)
            for one, label in labelled
            if label not in _MEASURES
        ]
