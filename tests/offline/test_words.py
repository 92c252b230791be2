import pytest

from lightrag_dagster.offline.words import words


@pytest.mark.parametrize(
    ("kind", "some"),
    [
        ("units", "grad"),
        ("connectors", "&"),
        ("names", "zoe"),
        ("headings", "zweck"),
    ],
)
def test_sections(kind: str, some: str) -> None:
    assert some in words(kind)
    assert all(word == word.casefold().replace("ss", "ß") or word == word.casefold() for word in words(kind))


def test_an_unknown_section_is_an_error() -> None:
    with pytest.raises(KeyError):
        words("no such section")
