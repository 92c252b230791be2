"""Configuration in the files of a sentence-transformers model: prompts, lengths and pooling."""

from typing import Any, Literal

from lightrag_dagster.models.local.files import ModelFiles

Kind = Literal["query", "document"]
"""Kinds of texts: models may want another prompt before a question than before a document."""

_PROMPTS: dict[Kind, tuple[str, ...]] = {"query": ("query",), "document": ("document", "passage", "corpus")}
"""Names of the prompt for a kind of texts."""

_OLDER_POOLING = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_lasttoken": "lasttoken",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
}


def prompts(files: ModelFiles) -> dict[Kind, str]:
    """Return the prompt before each kind of texts; often an empty one."""
    named = files.read("config_sentence_transformers.json").get("prompts") or {}
    # sentence-transformers itself takes an empty prompt for documents before one for passages.
    return {kind: next((named[name] for name in names if named.get(name)), "") for kind, names in _PROMPTS.items()}


def token_limit(files: ModelFiles) -> int:
    """Return the number of tokens that the model reads; a million if its files do not say."""
    tokenizer = files.read("tokenizer_config.json")
    config = files.read("config.json")
    told = _transformer(files).get("max_seq_length")
    known = [told] if told else [tokenizer.get("model_max_length"), config.get("max_position_embeddings")]
    return min([int(limit) for limit in known if limit], default=1_000_000)


def lowers_case(files: ModelFiles) -> bool:
    """Return True if texts are put into lower case before they are cut into tokens."""
    return bool(_transformer(files).get("do_lower_case"))


def dimensions(files: ModelFiles) -> int | None:
    """Return the length of a vector, or None if only the loaded model can tell."""
    config = _pooling_config(files)
    told = config.get("embedding_dimension") or config.get("word_embedding_dimension")
    return told if pooling(files) else None


def pooling(files: ModelFiles) -> str | None:
    """Return the pooling of a text's token vectors, or None when the model has further steps."""
    modules, config = _modules(files), _pooling_config(files)
    modes = config.get("pooling_mode") or [mode for name, mode in _OLDER_POOLING.items() if config.get(name)] or "mean"
    modes = [modes] if isinstance(modes, str) else modes
    ends_here = modules.keys() <= {"Transformer", "Pooling", "Normalize"} and config.get("include_prompt", True)
    return modes[0] if ends_here and len(modes) == 1 else None


def _modules(files: ModelFiles) -> dict[str, str]:
    """Return the parts of the model, kind → folder."""
    return {module["type"].rpartition(".")[2]: module["path"] for module in files.read("modules.json")}


def _pooling_config(files: ModelFiles) -> dict[str, Any]:
    return dict(files.read(f"{_modules(files).get('Pooling', '1_Pooling')}/config.json"))


def _transformer(files: ModelFiles) -> dict[str, Any]:
    found = sorted(path.name for path in files.folder.glob("sentence_*_config.json"))
    return dict(files.read(found[0])) if found else {}
