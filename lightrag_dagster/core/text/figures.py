"""Names of images in the text of a document, and the Markdown that marks their places."""

import re
from collections.abc import Iterable, Iterator

from lightrag_dagster.core import identity

_DIGITS = 16  # of a hash in a name; a name with a description has two
_BRACKETS = str.maketrans("[]", "()")
_MARK = re.compile(r"!\[([^\[\]\n]*)\]\((figure-(?:[0-9a-f]{16}){1,2})\)")


def figure_name(digest: str) -> str:
    """Return the name of a hash of hexadecimal digits in a text."""
    return f"figure-{digest[:_DIGITS]}"


def described_name(digest: str, caption: str, answer: str) -> str:
    """Return the name of an image with a description: one half names image and caption, the other the stored answer."""
    return figure_name(identity.digest(digest, caption)) + answer[:_DIGITS]


def subject_of(name: str) -> str:
    """Return the half of a described image's name that identifies image and caption."""
    return name[: len("figure-") + _DIGITS]


def answers_of(names: Iterable[str], keys: Iterable[str]) -> set[str]:
    """Return the keys of stored answers that begin with a half of a described image's name."""
    named = {name[-_DIGITS:] for name in names if len(name) > len(subject_of(name))}
    return {key for key in keys if key[:_DIGITS] in named}


def mark_of(caption: str, name: str) -> str:
    """Return the Markdown of an image."""
    return f"![{as_caption(caption)}]({name})"


def as_caption(text: str) -> str:
    """Return a text on one line and without square brackets, which would end an image's alternative text."""
    return " ".join(text.split()).translate(_BRACKETS)


def find_marks(text: str) -> Iterator[tuple[int, int, str, str]]:
    """Yield the images in a text: first character, one past the last, caption, and name."""
    for found in _MARK.finditer(text):
        yield found.start(), found.end(), found[1], found[2]
