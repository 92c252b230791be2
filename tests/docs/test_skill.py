"""The skill for coding agents does what it says."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

import lightrag_dagster
from lightrag_dagster.cli.app import app
from lightrag_dagster.settings import load_settings
from tests.cli.test_cli import command
from tests.docs.test_links import PACKAGE
from tests.support import FLOOD, RIVER, write_source

(SKILL,) = (PACKAGE / ".agents" / "skills").glob("*/SKILL.md")
_, HEAD, BODY = SKILL.read_text(encoding="utf-8").split("---\n", 2)
COMMANDS = [
    shlex.split(line) for block in re.findall(r"```bash\n(.*?)```", BODY, re.DOTALL) for line in block.splitlines()
]


def test_its_head_is_as_the_format_asks() -> None:
    head = yaml.safe_load(HEAD)
    assert set(head) == {"name", "description", "license"}
    assert head["name"] == SKILL.parent.name
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", head["name"])
    assert len(head["description"]) <= 1024
    assert len(BODY.splitlines()) < 500


@pytest.mark.long
def test_its_commands_work_in_their_order(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    write_source(load_settings(), "notes", {"river.md": RIVER, "flood.md": FLOOD})
    assert len(COMMANDS) == 10
    ended = [(words, *command(capfd, monkeypatch, *words[1:])) for words in COMMANDS]
    assert [(words, errors) for words, code, _, errors in ended if code or words[0] != "lightrag-dagster"] == []


@pytest.mark.parametrize(
    ("variable", "value", "arguments", "expected"),
    [
        ("LIGHTRAG_LLM__PROVIDER", "none-such", ("run",), 2),
        pytest.param("LIGHTRAG_DOCUMENTS__MAX_FAILED_SHARE", "0", ("run",), 1, marks=pytest.mark.long),
    ],
)
def test_exit_codes_are_those_of_its_table(
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    value: str,
    arguments: tuple[str, ...],
    expected: int,
) -> None:
    write_source(load_settings(), "notes", {"river.md": RIVER, "broken.pdf": b"%PDF-1.4 no more"})
    monkeypatch.setenv(variable, value)
    assert command(capfd, monkeypatch, *arguments)[0] == expected
    assert re.search(rf"^\| {expected} \| ", BODY, re.MULTILINE)


def test_every_page_command_and_option_that_it_names_is_there() -> None:
    pages = re.findall(r"`(docs/[\w-]+\.md)`", BODY)
    assert pages
    assert [page for page in pages if not (SKILL.parent / "../../../" / page).resolve().exists()] == []
    known = {one.name or one.callback.__name__.replace("_", "-") for one in app.registered_commands if one.callback}
    known |= {group.name for group in app.registered_groups if group.name}
    named = {words.split()[0] for words in re.findall(r"`([a-z]+(?: [^`]*)?)`", BODY)}
    assert named - known <= {"sources", "from"}
    for name in re.findall(r"lightrag_dagster\.(\w+Component)", BODY):
        assert hasattr(lightrag_dagster, name)
