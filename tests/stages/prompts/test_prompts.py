from pathlib import Path

import pytest

from lightrag_dagster.errors import SettingsError
from lightrag_dagster.stages.prompts import load_prompts

GROUPS = ["extraction", "summary", "keywords", "answer", "judge"]

REPLACEMENTS = [
    ("extraction_system", "Rules in $language for $entity_types", "extraction"),
    ("entity_types", "- Ship: a vessel", "extraction"),
    ("extraction_user", "Do it in $language", "extraction"),
    ("gleaning_user", "More, in $language", "extraction"),
    ("summary_system", "Short: $max_tokens, $language", "summary"),
    ("keywords_system", "Keywords in $language", "keywords"),
    ("answer_system", "As $response_type", "answer"),
    ("judge_system", "Be fair", "judge"),
]


def test_every_package_file_is_a_prompt_and_loads() -> None:
    prompts = load_prompts(None)
    package = Path(__file__).parents[3] / "lightrag_dagster" / "stages" / "prompts"
    assert set(prompts.texts) == {file.stem for file in package.glob("*.md")}


def test_language_and_types_are_filled_in() -> None:
    prompts = load_prompts(None, "Klingon")
    rendered = prompts.render("extraction_system", entity_types="- Ship")
    assert "Klingon" in rendered
    assert "- Ship" in rendered
    assert "$" not in rendered


@pytest.mark.parametrize(("name", "text", "group"), REPLACEMENTS)
def test_a_replacement_changes_its_own_group_alone(tmp_path: Path, name: str, text: str, group: str) -> None:
    (tmp_path / f"{name}.md").write_text(text, encoding="utf-8")
    (tmp_path / "README.md").write_text("what these are, for $people")
    standard, replaced = load_prompts(None), load_prompts(tmp_path)
    assert replaced.texts[name] == text
    changed = [each for each in GROUPS if standard.digest(each) != replaced.digest(each)]
    assert changed == [group]


def test_line_ends_byte_order_mark_and_outer_blanks_do_not_matter(tmp_path: Path) -> None:
    (tmp_path / "entity_types.md").write_bytes(b"\xef\xbb\xbf- Ship\r\n- Port\r\n\r\n")
    assert load_prompts(tmp_path).texts["entity_types"] == "- Ship\n- Port"


def test_front_matter_names_the_examples_and_is_no_part_of_a_prompt(tmp_path: Path) -> None:
    assert "Vashbrake" in load_prompts(None).echoes
    text = "$entity_types in $language"
    (tmp_path / "extraction_system.md").write_text(f"---\nechoes: Zorbel Works, Vint\n---\n{text}\n")
    found = load_prompts(tmp_path)
    assert (found.texts["extraction_system"], found.echoes) == (text, ("Zorbel Works", "Vint"))
    (tmp_path / "extraction_system.md").write_text(f"---\n{text}\n")
    assert load_prompts(tmp_path).texts["extraction_system"] == f"---\n{text}"


def test_two_dollars_are_one(tmp_path: Path) -> None:
    (tmp_path / "entity_types.md").write_text("- Price: more than $$5")
    (tmp_path / "._entity_types.md").write_bytes(b"\xff")
    assert load_prompts(tmp_path).render("entity_types") == "- Price: more than $5"


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("extraction_user", b"no placeholder", r"lacks the placeholder \$language"),
        ("extraction_user", b"$language and $tone", r"uses \$tone, .* here: \$language"),
        ("entity_types", b"- Price: $5", "lone"),
        ("entity_types", b"- $language", "here: none"),
        ("entity_types", b"\xff", "save it as UTF-8"),
        ("entity_types", b"---\nechos: Ship\n---\n- Ship", "front matter is not"),
        ("entity-types", b"- Ship", "replaces no prompt"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, name: str, data: bytes, says: str) -> None:
    file = tmp_path / f"{name}.md"
    file.write_bytes(data)
    with pytest.raises(SettingsError, match=says) as raised:
        load_prompts(tmp_path)
    assert str(file) in str(raised.value)


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "entity_types.md").symlink_to(tmp_path / "gone.md")
    with pytest.raises(SettingsError, match=r"entity_types\.md is not a file; remove it, or name one"):
        load_prompts(tmp_path)


def test_a_folder_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"nowhere cannot be read: No such file"):
        load_prompts(tmp_path / "nowhere")
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(SettingsError, match=r"file cannot be read: Not a directory"):
        load_prompts(file)
