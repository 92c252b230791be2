"""The function of a user that masks or refuses the texts of a document, before any of them is stored or sent."""

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from lightrag_dagster.core.functions import load_function
from lightrag_dagster.core.text.sanitise import FORBIDDEN
from lightrag_dagster.errors import one_line
from lightrag_dagster.readers import ExtractedText

Mask = Callable[[str], str]

REFUSED = "refused it: "
_PAGE_BREAK = "\n\n"
_one_at_a_time = threading.Lock()
"""Files are parsed by several threads, and few models that find names may be used by two."""


def mask_setting(source: str) -> str:
    """Return the name of the setting that names the function for a source."""
    return f"named_sources.{source}.mask"


def load_mask(source: str, path: str) -> Mask:
    """Return the function for a source, which raises ValueError as a reason that begins with its path.

    Raises:
        SettingsError: it cannot be imported or called.
    """
    return partial(_masked, path, load_function(mask_setting(source), path))


def with_mask(extracted: ExtractedText, mask: Mask) -> ExtractedText:
    """Return what was read of a file with every text masked, page by page; raises ValueError as `load_mask`."""
    said, losses = extracted.properties, extracted.losses
    pages, places, length = [], [], 0
    for start, end in zip(extracted.pages or (0,), (*extracted.pages[1:], len(extracted.text)), strict=True):
        page = extracted.text[start:end]
        text = page.removesuffix(_PAGE_BREAK) if end < len(extracted.text) else page
        pages.append(mask(text) + page[len(text) :])
        places.append(length)
        length += len(pages[-1])
    return replace(
        extracted,
        title=" ".join(mask(extracted.title).split()) or "-",
        text="".join(pages),
        pages=tuple(places) if extracted.pages else (),
        properties=replace(
            said,
            title=_or_none(mask, said.title),
            author=_or_none(mask, said.author),
            tags=tuple(mask(tag) for tag in said.tags),
            switched_off=_or_none(mask, said.switched_off),
        ),
        why_empty=_or_none(mask, extracted.why_empty),
        note=_or_none(mask, extracted.note),
        losses=losses._replace(example=mask(losses.example)) if losses else None,
    )


def _or_none(mask: Mask, text: str | None) -> str | None:
    return (mask(text) or None) if text else None


def _masked(path: str, function: Mask, text: str) -> str:
    """Return a text as a function masks it; raises ValueError."""
    if not text:
        return text
    try:
        with _one_at_a_time:
            masked = function(text)
    except (Exception, SystemExit) as error:
        # The message of a refusal is for people; that of another error may have some of the text.
        refused = type(error) is ValueError
        reason = f"{REFUSED}{one_line(error)}" if refused else f"failed: {type(error).__name__}"
        raise ValueError(f"{path} {reason}") from error
    if not isinstance(masked, str):
        raise ValueError(f"{path} returned {type(masked).__name__}, no text")
    return text if masked == text else FORBIDDEN.sub("", masked).strip()
