"""Recipes: hashes of the prompts, models, settings and revisions that make rows.

A row that cost money names its recipe. A run keeps rows of other recipes while their text is unchanged; a backfill
makes them again. A table has a recipe too, in its record: what its step follows at once, such as how it is read or
parsed, since that costs nothing. A revision is raised by hand whenever a stage's code would make other rows of the same
inputs.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from lightrag_dagster.core.export_formats import EXPORT_REVISION, REPORT_REVISION
from lightrag_dagster.core.functions import function_version
from lightrag_dagster.core.identity import digest
from lightrag_dagster.errors import SettingsError
from lightrag_dagster.fact_schemas import MERGED_PASS_TABLES, OF_COLUMNS, PASS_TABLES, split_pass
from lightrag_dagster.indexes.communities import RECIPE as COMMUNITIES
from lightrag_dagster.models.providers import chat_identity, embedder_identity
from lightrag_dagster.readers import ReadingOptions, versions
from lightrag_dagster.schemas import MERGED_TABLES, PARSED_TABLES, SOURCE_TABLES, columns_of
from lightrag_dagster.settings import ChunkingSettings, Settings
from lightrag_dagster.settings.sections import ExtractionMethod
from lightrag_dagster.stages.chunking.custom import SETTING
from lightrag_dagster.stages.documents.masking import mask_setting
from lightrag_dagster.stages.extraction.extractions import extraction_recipe
from lightrag_dagster.stages.facts.columns import pass_of_columns
from lightrag_dagster.stages.facts.passes import Pass, load_passes
from lightrag_dagster.stages.prompts import Prompts, load_prompts
from lightrag_dagster.stages.prompts.requests import by_schema
from lightrag_dagster.storage.manifests import VECTOR_TABLES, EmbedderRecord, GenerationInputs

if TYPE_CHECKING:  # Slow to import, and not needed where a model is asked.
    from lightrag_dagster.models.rules import NameFinder

_NOT_OF_SUMMARIES = {"max_chunks", "chunk_limit_method", "types"}
# The settings that recipes of chunks always named; others are named where they are not the default, so that a new
# setting makes no row outdated.
_FIRST_OF_CHUNKING = {"size", "overlap", "encoding"}
_REVISIONS = {
    "raw_documents": 23,
    "chunks": 2,
    "extractions": 5,
    "mentions": 11,
    "facts": 12,
    "merge": 16,
    "stores": 17,
    "report": 6,
    "duplicates": 2,
}


@dataclass(frozen=True)
class Recipes:
    """Today's recipe of every stage, under given settings and prompts; `mistake` is why no pass is known."""

    settings: Settings
    prompts: Prompts
    passes: Mapping[str, Pass] = field(default_factory=dict)
    mistake: str | None = None

    @classmethod
    def of(cls, settings: Settings, *, leniently: bool = False) -> "Recipes":
        """Read the prompt files and the schemas of passes, and return the recipes.

        Raises:
            SettingsError: a prompt file cannot be used, or a schema, unless they are read `leniently`.
        """
        prompts, mistake = load_prompts(settings.prompts, settings.language), None
        try:
            passes = load_passes(settings.readings)
        except SettingsError as error:
            if not leniently:
                raise
            passes, mistake = {}, str(error)
        return cls(settings, prompts, passes, mistake)

    @cached_property
    def chunks(self) -> str:
        """Recipe of chunks: the non-default chunking settings, custom functions and the embedder."""
        chunking = self.settings.chunking
        usual = ChunkingSettings().model_dump(mode="json")
        named = {
            name: value
            for name, value in chunking.model_dump(mode="json").items()
            if value != usual[name] or name in _FIRST_OF_CHUNKING
        }
        functions = {one.function for one in chunking.all_in_use if one.method == "custom" and one.function}
        others: dict[str, object] = {function: function_version(SETTING, function) for function in functions}
        if self.compares_meaning:
            others["embedder"] = self.embedder
        return digest(_REVISIONS["chunks"], named, *([others] if others else []))

    @property
    def compares_meaning(self) -> bool:
        """True if an embedder decides where some documents are cut."""
        return any(one.method == "semantic" for one in self.settings.chunking.all_in_use)

    @property
    def describes_figures(self) -> bool:
        """True if a model describes the images in documents."""
        return self.settings.documents.describe_figures and self.settings.llm.provider != "offline"

    def of_source(self, source: str) -> "Recipes":
        """Return the recipes for one source, whose entities may be found by another method than the others'."""
        extraction = self.settings.extraction
        method = extraction.method_of(source)
        return self if method == extraction.method else self._by_method[method]

    @cached_property
    def _by_method(self) -> "dict[ExtractionMethod, Recipes]":
        """The recipes by each method in use."""
        extraction = self.settings.extraction
        return {
            method: replace(self, settings=self.settings.changed(extraction={"method": method, "methods": {}}))
            for method in sorted({extraction.method, *extraction.methods.values()})
        }

    def passes_of(self, source: str) -> list[Pass]:
        """Return the passes of a source: those of files, and that of its columns."""
        named = self.settings.named_sources.get(source)
        stated = [pass_of_columns(named.rows.facts)] if named and named.rows and named.rows.facts else []
        return [*(one for one in self.passes.values() if one.reads(source)), *stated]

    def passes_to_read(self, source: str) -> list[Pass]:
        """Return those that can read now: without a model that of columns; what the others have read stays."""
        by_model = self.settings.llm.of("extract").provider != "offline"
        return [one for one in self.passes_of(source) if by_model or one.name == OF_COLUMNS]

    def pass_names(self, source: str) -> list[str]:
        """Return the names of the passes of a source."""
        return [one.name for one in self.passes_of(source)]

    def readings(self, of_pass: Pass) -> str:
        """Return the recipe of the readings of a pass: its schema, the instructions, the model and its parameters."""
        if of_pass.name == OF_COLUMNS:
            return digest(OF_COLUMNS)
        identity, form = chat_identity(self.settings.llm.of("extract")), self.settings.extraction
        by_form = by_schema(form.answer_format, form.profile)
        return digest(_REVISIONS["extractions"], self.prompts.digest("facts"), of_pass.asked, by_form, identity)

    def facts(self, of_pass: Pass) -> str:
        """Return the recipe of the table of facts of a pass: that of its readings decides what counts as rejected."""
        columns = [columns_of(PASS_TABLES[table]) for table in ("facts", "read_facts")]
        return digest(_REVISIONS["facts"], columns, of_pass.parsed, self.readings(of_pass))

    @cached_property
    def descriptions(self) -> str:
        """Recipe of what images show: prompt, language and model."""
        prompts, identity = self.prompts, chat_identity(self.settings.llm.of("describe"))
        return digest(prompts.digest("description"), prompts.language, identity)

    @cached_property
    def extractions(self) -> str:
        """Recipe of extraction: prompts, model and parameters, or the rules; part of every extraction key."""
        if self.name_finder:
            following = ["document_language"] if self.settings.extraction.document_language else []
            return digest(_REVISIONS["extractions"], self.name_finder.identity, *following)
        identity = chat_identity(self.settings.llm.of("extract"))
        return digest(_REVISIONS["extractions"], extraction_recipe(self.prompts, self.settings.extraction, identity))

    @property
    def name_finder(self) -> "NameFinder | None":
        """The rules that find the entities of a chunk where no language model is asked about it.

        Raises:
            SettingsError: the model of names is not on this machine.
        """
        extraction = self.settings.extraction
        if extraction.method == "llm":
            return None
        from lightrag_dagster.models.rules import NameFinder

        return NameFinder(co_mentions=extraction.method == "co_mentions", pipeline=extraction.names_model)

    @cached_property
    def summaries(self) -> str:
        """Recipe of summaries: prompt, model, length, language, and how descriptions are divided among calls."""
        rules = self.settings.merging.model_dump(mode="json", exclude=_NOT_OF_SUMMARIES)
        shapes = rules | {"language": self.prompts.language}
        identity = chat_identity(self.settings.llm.of("summarise"))
        return digest(self.prompts.digest("summary"), identity, shapes, self.settings.chunking.encoding)

    @property
    def _own_echoes(self) -> list[list[str]]:
        """The names that own prompts list as echoes, which parsing rejects; none if they are those of the package."""
        names = sorted({*self.prompts.echoes})
        return [names] if self.settings.prompts and names != sorted({*load_prompts(None).echoes}) else []

    @cached_property
    def table_recipes(self) -> dict[str, str]:
        """Recipe of each source table: the revisions, columns and settings that it follows at once."""
        documents = self.settings.documents
        options = ReadingOptions(documents.recognise_text, self.describes_figures, documents.pdf_reader)
        columns = {table: columns_of(schema) for table, schema in SOURCE_TABLES.items()}
        mentions = digest(_REVISIONS["mentions"], [columns[table] for table in PARSED_TABLES], *self._own_echoes)
        return {
            "raw_documents": digest(
                _REVISIONS["raw_documents"],
                columns["raw_documents"],
                documents.model_dump(include={"max_bytes", "max_seconds", "max_memory_mb"}),
                versions(options),
                *(["figures"] if options.figures else []),
                *(["repeated lines"] if documents.keep_repeated_lines else []),
            ),
            "chunks": digest(columns["chunks"]),
            "extractions": digest(columns["extractions"]),
            "readings": digest(columns_of(PASS_TABLES["readings"])),
            **dict.fromkeys(PARSED_TABLES, mentions),
        }

    def table_recipe(self, table: str, source: str) -> str:
        """Return the recipe of a table of one source: of documents, with the function that masks their texts.

        Raises:
            SettingsError: there is no such function.
        """
        kind, name = split_pass(table)
        if name and kind != "readings":
            return self.facts(next(one for one in self.passes_of(source) if one.name == name))
        recipe, named = self.table_recipes[kind], self.settings.named_sources.get(source)
        if table != "raw_documents" or not (named and named.mask):
            return recipe
        return digest(recipe, named.mask, function_version(mask_setting(source), named.mask))

    def row_recipe(self, table: str) -> str | None:
        """Return the recipe of the rows of a source table; None where rows name none."""
        if table == "raw_documents":
            return self.descriptions if self.describes_figures else None
        kind, name = split_pass(table)
        if name:
            if kind != "readings":
                return None
            known = self.passes.get(name)
            return digest(OF_COLUMNS) if name == OF_COLUMNS else self.readings(known) if known else None
        return {"chunks": self.chunks, "extractions": self.extractions}.get(table)

    @cached_property
    def embedder(self) -> str:
        """Identity of the embedder; part of every embedding key."""
        return embedder_identity(self.settings.embedding)

    def generation_inputs(self, sources: dict[str, dict[str, str]]) -> GenerationInputs:
        """Return the inputs of a merge of these versions, by source and table, that keeps nothing of an earlier one."""
        return GenerationInputs(
            sources=sources,
            revisions=digest(_REVISIONS["merge"], _REVISIONS["stores"]),
            merging=self.settings.merging,
            encoding=self.settings.chunking.encoding,
            terms=self.settings.extraction.terms,
            embedder=EmbedderRecord.of(self.settings.embedding, self.embedder),
        )

    @cached_property
    def generation(self) -> str:
        """Recipe of everything that is built from the accepted tables: revisions, settings and embedder."""
        return self.generation_inputs({}).recipe

    @cached_property
    def answers(self) -> str:
        """Recipe of answers: query settings, prompts and model."""
        steps: list[Literal["keywords", "relevance", "hops", "answer", "rerank"]]
        steps = ["keywords", "relevance", "hops", "answer"]
        if self.settings.rerank.provider == "chat":
            steps.append("rerank")
        return digest(
            self.settings.query.model_dump(exclude={"max_retries"}),
            self.settings.rerank.model_dump(include={"provider", "model"}),
            [self.prompts.digest(step) for step in steps],
            [chat_identity(self.settings.llm.of(step)) for step in steps],
        )

    @cached_property
    def retrieval_evaluation(self) -> str:
        """Recipe of an evaluation: the settings by which questions are asked and judged."""
        return digest(self.answers, self.prompts.digest("judge"), chat_identity(self.settings.llm.of("judge")))

    @cached_property
    def extraction_evaluation(self) -> str:
        """Recipe of scores beside gold rows: the settings of types, and the bound of the check."""
        return digest(self.settings.merging.types.model_dump(mode="json"), self.settings.gold.least_f1)

    @cached_property
    def duplicate_candidates(self) -> str:
        """Recipe of candidates: the rules and weights by which names may be one."""
        return digest(_REVISIONS["duplicates"])

    def code_versions(self) -> dict[str, str]:
        """Return the recipe of every asset, which Dagster calls its code version."""
        of_columns = [one for each in self.settings.named_sources for one in self.passes_of(each) if one.is_of_columns]
        return {
            "raw_documents": self.table_recipes["raw_documents"],
            **dict.fromkeys(PARSED_TABLES, self.table_recipes["parsed"]),
            "chunks": self.chunks,
            "extractions": self._extractions_of_all,
            "readings": digest(*map(self.readings, self.passes.values())),
            **dict.fromkeys(("facts", "read_facts"), digest(*map(self.facts, [*self.passes.values(), *of_columns]))),
            **dict.fromkeys(
                (*MERGED_TABLES, *MERGED_PASS_TABLES, "knowledge_graph", "knowledge_base", "published_graph"),
                self.generation,
            ),
            **dict.fromkeys(VECTOR_TABLES, self.embedder),
            "answers": self.answers,
            "communities": digest(COMMUNITIES),
            "duplicate_candidates": self.duplicate_candidates,
            "exports": digest(EXPORT_REVISION),
            "graph_report": digest(REPORT_REVISION),
            "status_report": digest(_REVISIONS["report"]),
            "retrieval_evaluation": self.retrieval_evaluation,
            "extraction_evaluation": self.extraction_evaluation,
        }

    @property
    def _extractions_of_all(self) -> str:
        """Return the recipe of extractions of all sources; a source that lacks its model of names says so itself."""
        methods, found = self.settings.extraction.methods, list[str]()
        if not methods:
            return self.extractions
        for one in self._by_method.values():
            with suppress(SettingsError):
                found.append(one.extractions)
        return digest(*found, methods)
