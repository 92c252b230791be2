"""All visible text of a page, line by line, without a tree: of a page of any depth, and of one without a main part."""

from lxml import etree


def all_text(page: str) -> str:
    """Return all visible text of a page; the text between two tags is a line of its own."""
    parser = etree.HTMLParser(encoding="utf-8", target=_TextLines(), huge_tree=True)
    return str(etree.fromstring(page.encode("utf-8", "ignore"), parser))


class _TextLines:
    """A parser target that puts the text between two tags on a line of its own."""

    _INVISIBLE = ("head", "script", "style", "template")

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._invisible = 0

    def start(self, tag: str, attributes: object) -> None:
        self._texts.append("\n")
        self._invisible += tag in self._INVISIBLE

    def end(self, tag: str) -> None:
        self._texts.append("\n")
        self._invisible -= tag in self._INVISIBLE

    def data(self, text: str) -> None:
        if not self._invisible:
            self._texts.append(text)

    def close(self) -> str:
        lines = (" ".join(line.split()) for line in "".join(self._texts).splitlines())
        return "\n".join(line for line in lines if line)
