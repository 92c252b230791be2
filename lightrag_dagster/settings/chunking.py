"""The chunking of documents: a method with its settings, and exceptions for some paths."""

from typing import Annotated, Any, Literal

from pydantic import Field, PositiveFloat, SerializerFunctionWrapHandler, Strict, model_serializer, model_validator

from lightrag_dagster.core.globs import matches
from lightrag_dagster.settings.sections import Section

ChunkingMethod = Literal["token", "character", "recursive", "structure", "sentence", "semantic", "adaptive", "custom"]
Breakpoint = Literal["percentile", "standard_deviation", "interquartile", "gradient"]

SEPARATORS = ("\n\n", "\n", "。", "！", "？", "；", "，", " ", "")
"""LightRAG's cascade: each cuts pieces that are still too long after those before it; the empty one is a token."""


class ChunkerSettings(Section):
    """A chunking method and its settings; a setting that the method does not use has no effect."""

    method: ChunkingMethod = Field(
        default="token",
        description="Chunking method: `token`, `character`, `recursive`, `structure`, `sentence`, `semantic`, "
        "`adaptive` or `custom`; docs/chunking.md compares them.",
    )
    size: int = Field(default=1200, gt=0, description="Longest chunk, for every method. Tokens.")
    overlap: int = Field(
        default=100,
        ge=0,
        description="Overlap of a chunk and the one before; `token`, `character` in parts that are too long, "
        "`recursive`, `sentence`, `adaptive`. Tokens.",
    )
    separators: tuple[str, ...] = Field(
        default=SEPARATORS,
        min_length=1,
        max_length=64,
        description="`recursive`: where the text is cut; each where pieces between those before it are too long. "
        "`character`: the first alone, at every place.",
    )
    breakpoints: tuple[Breakpoint, Annotated[PositiveFloat, Strict()]] = Field(
        default=("percentile", 95.0),
        description="`semantic`: how far apart in meaning neighbouring sentences are where the text is cut: more than "
        "a `percentile`, one of the `gradient`, or a number of times the `standard_deviation` or the `interquartile` "
        "range above the mean, such as 3 and 1.5.",
    )
    function: str | None = Field(
        default=None, description="`custom`: dotted path of a function, `package.module.function`."
    )


class ChunkingRule(ChunkerSettings):
    """Other settings for the documents of some paths. Those not given are the section's own."""

    path: str = Field(min_length=1, description="Glob over `source/path/of/file`; `**` is any number of folders.")

    @property
    def given(self) -> dict[str, Any]:
        """The settings that the rule names."""
        return {name: getattr(self, name) for name in ChunkerSettings.model_fields if name in self.model_fields_set}

    @model_serializer(mode="wrap")
    def _only_given(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        values: dict[str, Any] = dump(self)
        return {name: value for name, value in values.items() if name in self.model_fields_set}


class ChunkingSettings(ChunkerSettings):
    """The chunking of documents."""

    encoding: str = Field(default="o200k_base", description="tiktoken encoding; o200k_base is in the package.")
    rules: tuple[ChunkingRule, ...] = Field(
        default=(),
        description="Exceptions, each a `path`, a glob over `source/path/of/file`, with any of the settings above but "
        "`encoding`; the first whose `path` matches counts.",
    )

    @model_validator(mode="after")
    def _fits(self) -> "ChunkingSettings":
        _check(self, "")
        for rule in self.rules:
            _check(self.model_copy(update=rule.given), f" (rule {rule.path!r})")
        return self

    def rule_of(self, path: str) -> int | None:
        """Return the number of the first rule that matches `source/path/of/file`, from 0; None if there is none."""
        return next((number for number, rule in enumerate(self.rules) if matches(path, rule.path)), None)

    def under(self, rule: int | None) -> ChunkerSettings:
        """Return the settings of the documents of a rule, or of those without one."""
        values = {name: getattr(self, name) for name in ChunkerSettings.model_fields}
        return ChunkerSettings(**values | (self.rules[rule].given if rule is not None else {}))

    @property
    def all_in_use(self) -> list[ChunkerSettings]:
        """All settings for documents: the section's own, then those of each rule."""
        return [self.under(rule) for rule in (None, *range(len(self.rules)))]


def _check(settings: ChunkerSettings, where: str) -> None:
    if settings.overlap >= settings.size:
        raise ValueError(f"overlap {settings.overlap} must be smaller than size {settings.size}{where}")
    if settings.method == "character" and not settings.separators[0]:
        raise ValueError(f"method character needs a text as the first of `separators`{where}")
    how, given = settings.breakpoints
    if settings.method == "semantic" and how in ("percentile", "gradient") and not 1 <= given <= 100:
        raise ValueError(f"method semantic has a percentile of 1 to 100; write 95, not {given:g}{where}")
    if settings.method == "custom" and not settings.function:
        raise ValueError(f"method custom needs `function`, a dotted path such as package.module.function{where}")
