"""Prompts: files in our own words, each replaceable by a file of the same name.

A file holds only instructions; `requests` adds the data (passage, descriptions, question, context) after them, so
that a replaced file cannot break the frame that fences data off. Values that settings give are `$name` placeholders
of `string.Template`; a literal dollar sign is written `$$`. Front matter, a line `echoes:` between two lines `---`,
names what its examples speak of, so that a row which repeats them can be told from one about the passage.
"""

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from string import Template

from lightrag_dagster.core.identity import digest
from lightrag_dagster.core.text.sheets import files_of, read_text
from lightrag_dagster.errors import SettingsError

NO_CONTEXT = "Sorry, the knowledge base holds nothing that answers this question. [no-context]"
"""The reply to a question without hits; programs look for its last word."""

_FRONT_MATTER = re.compile(r"\A---\s*\nechoes:(?P<echoes>.*)\n---\s*\n")
_LIKE_FRONT_MATTER = re.compile(r"\A---\s*\n\w+ *:")
_GROUPS = {
    "extraction": ("extraction_system", "entity_types", "extraction_json", "extraction_user", "gleaning_user"),
    "small": ("extraction_small",),
}
"""The files of each group that are not its name and `_system` alone."""


@dataclass(frozen=True)
class Prompts:
    """The prompts in force, by name (that of the file, without `.md`), and the language of a model's texts.

    `echoes` are the names, or words of them, in the examples of the prompts.
    """

    texts: Mapping[str, str]
    language: str
    echoes: tuple[str, ...] = ()

    def render(self, name: str, **values: object) -> str:
        """Return a prompt with its placeholders filled in; `language` always is."""
        return Template(self.texts[name]).substitute(values, language=self.language)

    def in_language(self, language: str | None) -> "Prompts":
        """Return the same prompts for another language of a model's texts; for None these."""
        return replace(self, language=language) if language else self

    def digest(self, group: str) -> str:
        """Return a hash of the prompt texts that shape one kind of answer; the language is not part of it."""
        return digest({name: self.texts[name] for name in _GROUPS.get(group, [f"{group}_system"])})


def load_prompts(folder: Path | None, language: str = "English") -> Prompts:
    """Read the package's prompts, each replaced by the `.md` file of its name in `folder` if there is one.

    Raises:
        SettingsError: the folder or a file cannot be read, a file has a name of no prompt (`README.md` may be
            there), or its placeholders are not those of the prompt it replaces.
    """
    read = {file.stem: _read(file) for file in sorted(Path(__file__).parent.glob("*.md"))}
    for name, file in _replacements(folder, read).items() if folder is not None else ():
        read[name] = _read(file, _placeholders(read[name][0]))
    echoes = {name: None for _, names in read.values() for name in names}
    return Prompts({name: text for name, (text, _) in read.items()}, language, tuple(echoes))


def export_prompts(folder: Path) -> list[Path]:
    """Copy the package's prompts into a folder, and return the copies; raises SettingsError, also if one is there."""
    files = sorted(Path(__file__).parent.glob("*.md"))
    copies = [folder / file.name for file in files]
    if present := next((copy for copy in copies if copy.exists()), None):
        raise SettingsError(f"{present} is there already, and stays as it is; name another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, copy in zip(files, copies, strict=True):
            shutil.copyfile(file, copy)
    except OSError as error:
        raise SettingsError(f"prompts cannot be written to {folder}: {error.strerror or error}") from error
    return copies


def _replacements(folder: Path, expected: Mapping[str, object]) -> dict[str, Path]:
    try:
        files = files_of(folder, ".md")
    except OSError as error:
        reason = error.strerror or error
        raise SettingsError(
            f"the folder of prompts {folder} cannot be read: {reason}; name one that is there, or none"
        ) from error
    found = {file.stem: file for file in files if file.name != "README.md"}
    for name, file in found.items():
        if name not in expected:
            names = ", ".join(f"{known}.md" for known in expected)
            raise SettingsError(f"{file} replaces no prompt; rename it to one of {names}")
    return found


def _placeholders(text: str) -> frozenset[str]:
    return frozenset(Template(text).get_identifiers())


def _read(file: Path, expected: frozenset[str] | None = None) -> tuple[str, list[str]]:
    """Return the text of a prompt, which has the `expected` placeholders, and the names in its front matter."""
    text = read_text(file, SettingsError).strip()
    head = _FRONT_MATTER.match(text)
    echoes = list(filter(None, map(str.strip, head["echoes"].split(",")))) if head else []
    text = text[head.end() :].strip() if head else text
    if head is None and _LIKE_FRONT_MATTER.match(text):
        raise SettingsError(f"prompt {file}: its front matter is not a line `echoes: names` between two lines `---`")
    if not Template(text).is_valid():
        raise SettingsError(f"prompt {file} has a lone $; write $$ for a dollar sign")
    used = _placeholders(text)
    expected = used if expected is None else expected
    if unknown := sorted(used - expected):
        allowed = ", ".join(f"${name}" for name in sorted(expected)) or "none"
        raise SettingsError(f"prompt {file} uses ${unknown[0]}, which nothing fills in; placeholders here: {allowed}")
    if missing := sorted(expected - used):
        raise SettingsError(f"prompt {file} lacks the placeholder ${missing[0]}; add it")
    return text, echoes
