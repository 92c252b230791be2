"""Fingerprints of code and settings: what each table is made with, besides its inputs.

They are the assets' code versions in Dagster, and each table version records the one it was made with. A revision is
raised by hand whenever a stage's code would make other rows of the same inputs.
"""

from dataclasses import dataclass
from functools import cached_property

from lightrag_dagster.core.identity import digest
from lightrag_dagster.models.providers import chat_identity, embedder_identity
from lightrag_dagster.settings import Settings
from lightrag_dagster.stages.extraction.extractions import extraction_fingerprint
from lightrag_dagster.stages.prompts import Prompts, load_prompts
from lightrag_dagster.storage.manifest import Embedder, GenerationInputs

_LIMITS_OF_MERGING = {"max_chunks_per_entity", "max_chunks_per_relation", "chunk_limit_method"}
_REVISIONS = {
    "raw_documents": 2,
    "chunks": 1,
    "extractions": 2,
    "mentions": 1,
    "merge": 4,
    "stores": 3,
    "report": 1,
}


@dataclass(frozen=True)
class Versions:
    """The fingerprint of every stage under given settings and prompts."""

    settings: Settings
    prompts: Prompts

    @classmethod
    def of(cls, settings: Settings) -> "Versions":
        """Read the prompt files and return the fingerprints.

        Raises:
            SettingsError: a prompt file cannot be used.
        """
        return cls(settings, load_prompts(settings.prompts))

    @cached_property
    def raw_documents(self) -> str:
        """Of reading documents."""
        return digest(_REVISIONS["raw_documents"], self.settings.documents.max_bytes)

    @cached_property
    def chunks(self) -> str:
        """Of chunking."""
        return digest(_REVISIONS["chunks"], self.settings.chunking.model_dump())

    @cached_property
    def extractions(self) -> str:
        """Of prompts, model and parameters; part of every extraction key."""
        identity = chat_identity(self.settings.llm.of("extract"))
        return digest(
            _REVISIONS["extractions"], extraction_fingerprint(self.prompts, self.settings.extraction, identity)
        )

    @cached_property
    def mentions(self) -> str:
        """Of parsing."""
        return digest(_REVISIONS["mentions"])

    @cached_property
    def summaries(self) -> str:
        """Recipe of summaries: prompt, model, length, language, and how many descriptions one call takes."""
        shapes = self.settings.merging.model_dump(mode="json", exclude=_LIMITS_OF_MERGING)
        identity = chat_identity(self.settings.llm.of("summarise"))
        return digest(self.prompts.fingerprint("summary"), identity, shapes, self.settings.chunking.encoding)

    @cached_property
    def generation_code(self) -> str:
        """Hash of the code of the merge and of everything after it."""
        return digest(_REVISIONS["merge"], _REVISIONS["stores"])

    @cached_property
    def embedder(self) -> str:
        """Identity of the embedder; part of every vector key."""
        return embedder_identity(self.settings.embedding)

    @cached_property
    def generation(self) -> str:
        """Hash of code, settings and embedder of a clean build of the knowledge base."""
        return clean_inputs(self, {}, {}).code_version

    @cached_property
    def answers(self) -> str:
        """Of asking: query settings, prompts and model."""
        return digest(
            self.settings.query.model_dump(),
            self.settings.rerank.model_dump(include={"provider", "model"}),
            self.prompts.fingerprint("answer"),
            chat_identity(self.settings.llm.of("keywords")),
            chat_identity(self.settings.llm.of("answer")),
        )

    @cached_property
    def retrieval_evaluation(self) -> str:
        """Of measuring: what is measured, and how it is asked and judged."""
        return digest(
            self.answers,
            self.settings.evaluation.model_dump(exclude={"questions"}),
            self.prompts.fingerprint("judge"),
            chat_identity(self.settings.llm.of("judge")),
        )

    def by_asset(self) -> dict[str, str]:
        """Return the code version of every asset."""
        return {
            "raw_documents": self.raw_documents,
            "chunks": self.chunks,
            "extractions": self.extractions,
            "entity_mentions": self.mentions,
            "relation_mentions": self.mentions,
            "entities": self.generation,
            "relations": self.generation,
            "entity_evidence": self.generation,
            "relation_evidence": self.generation,
            "chunk_vectors": self.embedder,
            "entity_vectors": self.embedder,
            "relation_vectors": self.embedder,
            "knowledge_graph": self.generation,
            "knowledge_base": self.generation,
            "answers": self.answers,
            "drift_report": digest(_REVISIONS["report"]),
            "retrieval_evaluation": self.retrieval_evaluation,
        }


def clean_inputs(versions: Versions, sources: dict[str, dict[str, str]], left_out: dict[str, str]) -> GenerationInputs:
    """Return the inputs of a merge of these accepted versions by today's code, settings and embedder."""
    embedding = versions.settings.embedding
    return GenerationInputs(
        sources=sources,
        left_out=left_out,
        code=versions.generation_code,
        merging=versions.settings.merging,
        encoding=versions.settings.chunking.encoding,
        embedder=Embedder(
            provider=embedding.provider,
            model=embedding.model,
            dimensions=embedding.dimensions,
            max_input_tokens=embedding.max_input_tokens,
            identity=versions.embedder,
        ),
    )
