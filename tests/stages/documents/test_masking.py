"""The function of a user that masks the texts of a document."""

import datetime
import re
import sys

import pytest

from lightrag_dagster.errors import SettingsError
from lightrag_dagster.readers import ExtractedText
from lightrag_dagster.readers.content import Properties
from lightrag_dagster.readers.losses import LostWords
from lightrag_dagster.stages.documents.masking import load_mask, with_mask

DAY = datetime.date(2026, 1, 1)


def no_marta(text: str) -> str:
    """A function of a user."""
    return re.sub("Marta Lindqvist|Marta", "\x00[person]", text)


def refusing(text: str) -> str:
    raise ValueError("it is\nconfidential")


def failing(text: str) -> str:
    raise KeyError(text)


def ending(text: str) -> str:
    sys.exit(0)


def lengthless(text: str) -> int:
    return len(text)


def path(name: str) -> str:
    return f"{__name__}.{name}"


def test_every_text_is_masked() -> None:
    said = Properties("By Marta", "Marta Lindqvist", DAY, ("Marta", "gauge"), "en")
    losses = LostWords(9, 1, "Marta")
    extracted = ExtractedText(
        "By Marta", "# By Marta", "text/markdown", properties=said, note="Marta.png", losses=losses
    )
    masked = with_mask(extracted, load_mask("crm", path("no_marta")))
    assert masked == ExtractedText(
        "By [person]",
        "# By [person]",
        "text/markdown",
        properties=Properties("By [person]", "[person]", DAY, ("[person]", "gauge"), "en"),
        note="[person].png",
        losses=LostWords(9, 1, "[person]"),
    )


@pytest.mark.parametrize(
    ("text", "pages", "masked", "places"),
    [
        ("Marta\n\nof Marta\n\nend", (0, 7, 17), "[person]\n\nof [person]\n\nend", (0, 10, 23)),
        ("Marta\n\nMarta", (0, 5, 7), "[person]\n\n[person]", (0, 8, 10)),
        ("Marta", (0, 0, 5), "[person]", (0, 0, 8)),
        ("", (), "", ()),
        ("one\n\ntwo", (0, 5), "one\n\ntwo", (0, 5)),
    ],
)
def test_pages_begin_where_they_begin_in_the_masked_text(
    text: str, pages: tuple[int, ...], masked: str, places: tuple[int, ...]
) -> None:
    found = with_mask(ExtractedText("t", text, "application/pdf", pages), load_mask("crm", path("no_marta")))
    assert (found.text, found.pages) == (masked, places)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        ("refusing", "refusing refused it: it is confidential"),
        ("failing", "failing failed: KeyError"),
        ("ending", "ending failed: SystemExit"),
        ("lengthless", "lengthless returned int, no text"),
    ],
)
def test_a_reason_has_nothing_of_the_text(function: str, reason: str) -> None:
    with pytest.raises(ValueError, match=re.escape(reason) + "$"):
        with_mask(ExtractedText("t", "Marta", "text/plain"), load_mask("crm", path(function)))


def test_a_function_that_is_not_there_is_named_by_its_setting() -> None:
    with pytest.raises(SettingsError, match=r"^named_sources\.crm\.mask no_such\.mask: ModuleNotFoundError"):
        load_mask("crm", "no_such.mask")
