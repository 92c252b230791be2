"""The images of a document for a vision model: found by the readers, and named in the text."""

import re
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256

from lightrag_dagster.core import identity
from lightrag_dagster.readers.content import Figure

_MOST = 100  # of a document
_MOST_CHARACTERS = 40_000_000  # of all their data URLs
_DIGITS = 16  # of a hash in a name; a name with a description has two
_BRACKETS = str.maketrans("[]", "()")
_MARK = re.compile(r"!\[([^\[\]\n]*)\]\((figure-(?:[0-9a-f]{16}){1,2})\)")


class Figures:
    """The collected images of one document; `found` has the usable ones, in order."""

    def __init__(self, picture_of: Callable[[bytes], tuple[str, int, int] | None]) -> None:
        """Take the function that makes a data URL of an image, with its width and height in pixels."""
        self.found: list[Figure] = []
        self._picture_of = picture_of
        self._left = _MOST_CHARACTERS
        self._seen: set[str] = set()

    def name_of(self, data: bytes) -> str | None:
        """Return the name of an image in the text; None for one that is left out.

        Left out are images that cannot be read, small ones such as icons, repeated ones such as a logo on every slide,
        and all beyond 100 images or 40 MB.
        """
        digest = sha256(data).hexdigest()
        if digest in self._seen or len(self.found) == _MOST:
            return None
        self._seen.add(digest)
        picture = self._picture_of(data)
        if picture is None or len(picture[0]) > self._left:
            return None
        self._left -= len(picture[0])
        self.found.append(Figure(figure_name(digest), digest, *picture))
        return self.found[-1].name

    def mark(self, data: bytes, caption: str = "") -> str:
        """Return the placeholder of an image in the text: `![caption](name)`, or its caption if it is left out."""
        name = self.name_of(data)
        return mark_of(caption, name) if name else caption


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
