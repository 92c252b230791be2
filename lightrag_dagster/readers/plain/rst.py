"""The readable text of reStructuredText.

Directives, roles, link targets and comments are for the program that makes pages. Docutils knows only its own, and
reports an error for every directive and role of Sphinx or of a project, which most of these files have.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from lightrag_dagster.readers.content import Content
from lightrag_dagster.readers.decoding import decode
from lightrag_dagster.readers.inline import raised

_EXPLICIT = re.compile(r"(?P<indent>\s*)\.\.(?:\s+(?P<rest>.*))?$")
_DIRECTIVE = re.compile(r"(?P<name>[A-Za-z][\w.+:-]*?) ?::(?:\s+(?P<argument>.*))?$")
_SUBSTITUTION = re.compile(r"\|(?P<name>[^|]+)\|\s+(?P<directive>[\w-]+)::\s*(?P<text>.*)$")
_OPTION = re.compile(r"\s+:(?P<name>[\w -]+):(?:\s+(?P<value>.*))?$")
_NOTE = re.compile(r"\[[^\]]+\](?:\s|$)")
_TARGET = re.compile(r"_.*:|__(?:\s|$)")
_ANONYMOUS = re.compile(r"\s*__\s+\S+$")

_UNSEEN = re.compile(
    "contents|currentmodule|default-(domain|role)|digraph|footer|graph(viz)?|header|highlight|image|include|index"
    "|inheritance-diagram|literalinclude|mermaid|meta|module(author)?|plantuml|program|raw|role|sectionauthor|sectnum"
    "|tabularcolumns|target-notes|test(setup|cleanup)|title|toctree|uml"
)
"""Directives that are left out."""

_CODE = re.compile("(source)?code(-block)?|doctest|ipython|jupyter-execute|math|plot|prompt|test(code|output)")
"""Directives whose body is text as it is."""

_UNSEEN_ARGUMENT = re.compile(
    "(source)?code(-block)?|container|doctest|figure|ifconfig|ipython|jupyter-execute|only|plot|productionlist|prompt"
    "|rst-class|test(code|output)"
)
"""Directives whose argument is not read."""

_SEEN_OPTIONS = ("caption", "header")
"""Options that are read: titles of code, and the first row of a table."""

_VERSIONS = {
    "versionadded": "Added in version",
    "versionchanged": "Changed in version",
    "versionremoved": "Removed in version",
    "deprecated": "Deprecated since version",
}
"""Directives that pages show in other words."""

_INLINE = re.compile(
    r"""
    (?P<literal>``.+?``)
  | (?P<joint>\\\s)
  | (?<![\w:`])(?P<name>(?::[A-Za-z][\w.+-]*)+:)`(?P<role>(?:[^`\\]|\\.)+)`
  | `(?P<reference>(?:[^`\\]|\\.)+)`__?(?!\w)
  | \|(?P<substitution>[^|\s][^|\n]*)\|_{0,2}
    """,
    re.VERBOSE | re.DOTALL,
)
_TITLED = re.compile(r"(?P<text>.+?)\s*(?<!\\)<.+>$", re.DOTALL)
_ESCAPED = re.compile(r"\\([^\w\s])")


def read(data: bytes) -> Content:
    """Read reStructuredText without its markup for programs; titles, code and text stay as they are."""
    text, note = decode(data)
    return Content(readable(text), note=note)


def readable(text: str) -> str:
    """Return the readable text of reStructuredText; without directives, roles, targets and comments it is unchanged."""
    return "\n".join(_RstReader(text.split("\n")).lines())


@dataclass
class _RstReader:
    """A reader of lines from the first to the last."""

    source: list[str]
    at: int = 0
    made: list[str] = field(default_factory=list)
    replacements: dict[str, str] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """Return the readable lines."""
        for number, line in enumerate(self.source):
            found = _SUBSTITUTION.match(line.strip()[2:].strip()) if line.lstrip().startswith(".. |") else None
            if found and found["directive"] == "replace":
                self.at = number + 1
                end = self._end_of_block(_indent(line))
                self.replacements[found["name"]] = " ".join(
                    " ".join([found["text"], *self.source[self.at : end]]).split()
                )
        self.at = 0
        while self.at < len(self.source):
            line = self.source[self.at]
            explicit = _EXPLICIT.match(line.rstrip())
            if explicit:
                self.at += 1
                self._explicit(explicit["indent"], (explicit["rest"] or "").strip())
            elif _ANONYMOUS.match(line.rstrip()):
                self.at += 1
                self._drop_blanks()
            else:
                self._paragraph()
        return self.made

    def _explicit(self, indent: str, rest: str) -> None:
        """Read a construct that begins with two dots and `rest`."""
        directive = _DIRECTIVE.match(rest)
        if _NOTE.match(rest):
            self.made.append(indent + self._inline(rest))
        elif _TARGET.match(rest):
            self._skip_paragraph(indent)
        elif directive and not rest.startswith("|"):
            self._directive(indent, directive["name"].rpartition(":")[2].lower(), (directive["argument"] or "").strip())
        elif rest or self._is_below(indent):
            self._skip_block(indent)
        else:
            self._drop_blanks()

    def _directive(self, indent: str, name: str, argument: str) -> None:
        if _UNSEEN.fullmatch(name):
            self._skip_block(indent)
            return
        if name in _VERSIONS:
            version, _, said = argument.partition(" ")
            argument = f"{_VERSIONS[name]} {version}" + (f": {said}" if said else "")
        is_seen = not _UNSEEN_ARGUMENT.fullmatch(name)
        is_code = bool(_CODE.fullmatch(name))
        read = [indent + argument] if argument and is_seen else []
        read += self._below_directive(indent, options_alone=is_code)
        if read:
            self.made += self._inline("\n".join(read)).split("\n")
        else:
            self._drop_blanks()
        if is_code:
            self._copy_block(indent)

    def _below_directive(self, indent: str, *, options_alone: bool) -> list[str]:
        """Return the readable lines right below a directive: the rest of its argument, and few options."""
        read = []
        while self._is_below(indent):
            line = self.source[self.at]
            option = _OPTION.match(line.rstrip())
            if options_alone and not option:
                break
            self.at += 1
            if option:
                read += [indent + option["value"]] if option["name"] in _SEEN_OPTIONS and option["value"] else []
                self._skip_paragraph(_indent(line), blanks=False)
            else:
                read.append(line)
        return read

    def _paragraph(self) -> None:
        """Read lines up to the next blank one, and code below if they announce it."""
        begin, line = self.at, self.source[self.at]
        while self.at < len(self.source) and self.source[self.at].strip():
            if self.at > begin and _EXPLICIT.match(self.source[self.at].rstrip()):
                break
            self.at += 1
        if self.at == begin:
            self.made.append(line)
            self.at += 1
            return
        self.made += self._inline("\n".join(self.source[begin : self.at])).split("\n")
        if self.made[-1].rstrip().endswith("::"):
            self._copy_block(_indent(self.source[begin]))

    def _copy_block(self, indent: str) -> None:
        """Keep an indented block as it is."""
        end = self._end_of_block(indent)
        self.made += self.source[self.at : end]
        self.at = end

    def _skip_block(self, indent: str) -> None:
        self.at = self._end_of_block(indent)
        self._drop_blanks()

    def _skip_paragraph(self, indent: str, *, blanks: bool = True) -> None:
        while self._is_below(indent):
            self.at += 1
        if blanks:
            self._drop_blanks()

    def _end_of_block(self, indent: str) -> int:
        """Return the end of the more deeply indented lines, without blank ones after them."""
        end = self.at
        for number in range(self.at, len(self.source)):
            if self.source[number].strip():
                if _width(_indent(self.source[number])) <= _width(indent):
                    break
                end = number + 1
        return end

    def _is_below(self, indent: str) -> bool:
        """Return True if the next line has more deeply indented text."""
        line = self.source[self.at] if self.at < len(self.source) else ""
        return bool(line.strip()) and _width(_indent(line)) > _width(indent)

    def _drop_blanks(self) -> None:
        """Drop blank lines that follow others after an omission."""
        while (not self.made or not self.made[-1].strip()) and self.at < len(self.source):
            if self.source[self.at].strip():
                return
            self.at += 1

    def _inline(self, text: str) -> str:
        return _INLINE.sub(lambda found: _shown(found, self.replacements), text)


def _shown(found: re.Match[str], replacements: Mapping[str, str]) -> str:
    """Return the text that pages show for a role, a reference or a substitution."""
    if found["literal"]:
        return found[0]
    if found["substitution"]:
        return replacements.get(found["substitution"], found[0])
    if found["joint"]:
        return ""
    text = found["role"] or found["reference"]
    if found["name"] in (":sup:", ":superscript:"):
        return raised(found.string[max(0, found.start() - 3) : found.start()].removesuffix("\\ "), text)
    if titled := _TITLED.match(text):
        text = titled["text"]
    elif found["role"] and text.startswith("~"):
        text = text[1:].rpartition(".")[2]
    return _ESCAPED.sub(r"\1", text.removeprefix("!"))


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _width(indent: str) -> int:
    return len(indent.expandtabs())
