"""The images of a document for a vision model, found by the readers."""

from collections import Counter
from collections.abc import Callable
from hashlib import sha256

from lightrag_dagster.core.text.figures import figure_name, mark_of
from lightrag_dagster.readers.content import Figure

_MOST = 100  # of a document
_MOST_CHARACTERS = 40_000_000  # of all their data URLs


class Figures:
    """The collected images of one document: `found` has the usable ones, in order, `left_out` the number by reason."""

    def __init__(self, picture_of: Callable[[bytes], tuple[str, int, int] | None]) -> None:
        """Take the function that makes a data URL of an image, with its width and height in pixels."""
        self.found: list[Figure] = []
        self.left_out = Counter[str]()
        self._picture_of = picture_of
        self._left = _MOST_CHARACTERS
        self._seen: set[str] = set()

    def name_of(self, data: bytes) -> str | None:
        """Return the name of an image in the text; None for one that is left out.

        Left out are images that cannot be read, small ones such as icons, repeated ones such as a logo on every slide,
        and all beyond 100 images or 40 MB.
        """
        digest = sha256(data).hexdigest()
        if digest in self._seen:
            return None
        self._seen.add(digest)
        try:
            picture = self._picture_of(data) if len(self.found) < _MOST else ("", 0, 0)
        except (ValueError, OverflowError):
            self.left_out["drawings and damaged images, which are not described"] += 1
            return None
        if picture is None:
            return None
        if len(self.found) == _MOST or len(picture[0]) > self._left:
            self.left_out[f"images beyond the first {_MOST} or 40 MB, which are not described"] += 1
            return None
        self._left -= len(picture[0])
        self.found.append(Figure(figure_name(digest), digest, *picture))
        return self.found[-1].name

    def mark(self, data: bytes, caption: str = "") -> str:
        """Return the placeholder of an image in the text: `![caption](name)`, or its caption if it is left out."""
        name = self.name_of(data)
        return mark_of(caption, name) if name else caption
