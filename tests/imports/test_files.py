"""Documents of another system as files: paths of any kind, and the files of people."""

import os
from pathlib import Path

import pytest

from lightrag_dagster.imports.files import RECORD, safe_path, write_documents
from lightrag_dagster.imports.stored import StoredDocument


def document(path: str, text: str = "A text.", number: int = 0) -> StoredDocument:
    return StoredDocument(f"doc-{number}", path, text)


def files(folder: Path) -> dict[str, str]:
    return {
        str(one.relative_to(folder)): one.read_text()
        for one in folder.rglob("*")
        if one.is_file() and one.name != RECORD
    }


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("office.pdf", "office.pdf"),
        ("/etc/passwd", "etc/passwd"),
        ("../../a.txt", "a.txt"),
        ("C:\\Users\\me\\a.txt", "C_/Users/me/a.txt"),
        ("..", ""),
        (" . /.. ", ""),
        (".ssh/config", "ssh/config"),
        ("con", "_con"),
        ("a/NUL.txt", "a/_NUL.txt"),
        ("a\x00b\nc", "a_b_c"),
        ("\ud800x", "_x"),
        ("e\u0301", "\u00e9"),
        ("a\u202eb", "ab"),
        ("/".join("abcdefghijkl"), "e/f/g/h/i/j/k/l"),
    ],
)
def test_a_path_of_any_kind_is_made_safe(name: str, safe: str) -> None:
    assert safe_path(name) == safe


def test_long_names_are_cut_and_stay_apart() -> None:
    one, other = (safe_path("\u00e9" * 400 + end) for end in "ab")
    assert one != other
    assert max(len(path.encode()) for path in (one, other)) < 200


@pytest.mark.parametrize(
    ("path", "text", "file"),
    [
        ("a.txt", "# A heading", "a.txt"),
        ("a.md", "# A heading", "a.md"),
        ("a.md", "---\ntitle: A\n---\n# A heading", "a.md.txt"),  # its front matter would be cut off
        ("a.pdf", "# A heading\n\nA text.", "a.pdf.md"),
        ("a.pdf", "A text.", "a.pdf.txt"),
        ("a.py", "# a comment", "a.py.txt"),
        ("a.html", "<p>A text.</p>", "a.html.txt"),
        ("", "A text.", "doc-0.txt"),
        ("a.txt/b", "A text.", "a.txt_/b.txt"),
    ],
)
def test_the_suffix_says_what_it_is(tmp_path: Path, path: str, text: str, file: str) -> None:
    write_documents(tmp_path, [document(path, text)], 1000)
    assert files(tmp_path) == {file: text}


def test_paths_that_are_equal_in_any_case_stay_apart(tmp_path: Path) -> None:
    texts = [document(path, f"Text {at}.", at) for at, path in enumerate(("a.txt", "A.TXT", "./a.txt", "a"))]
    assert write_documents(tmp_path, texts, 1000).counts == {"new": 4, "renamed": 2}
    assert sorted(files(tmp_path).values()) == ["Text 0.", "Text 1.", "Text 2.", "Text 3."]


def test_again_takes_what_is_new_and_leaves_what_people_did(tmp_path: Path) -> None:
    names = ("same", "edited", "removed", "newer")
    write_documents(tmp_path, [document(f"{name}.txt", f"{name} before") for name in names], 1000)
    (tmp_path / "edited.txt").write_text("edited by a person")
    (tmp_path / "removed.txt").unlink()
    texts = {
        "same": "same before",
        "edited": "edited before",
        "removed": "removed before",
        "newer": "newer now",
        "more": "more",
    }
    written = write_documents(tmp_path, [document(f"{name}.txt", text) for name, text in texts.items()], 1000)
    assert written.counts == {"unchanged": 1, "differ": 1, "removed here": 1, "changed": 1, "new": 1}
    assert written.first["differ"] == "edited.txt"
    assert files(tmp_path) == {
        "same.txt": "same before", "edited.txt": "edited by a person", "newer.txt": "newer now", "more.txt": "more",
    }  # fmt: skip


def test_the_record_of_an_import_has_no_names(tmp_path: Path) -> None:
    write_documents(tmp_path, [document("secret-plan.txt", "A secret.")], 1000)
    assert "secret" not in (tmp_path / RECORD).read_text()


def test_what_is_empty_or_too_large_is_left_out(tmp_path: Path) -> None:
    written = write_documents(
        tmp_path, [document("a", " \n"), document("b", "é" * 600), document("c", "\ud800 x")], 1000
    )
    assert written.counts == {"empty": 1, "too large": 1, "new": 1}
    assert files(tmp_path) == {"c.txt": "? x"}


def test_links_and_other_things_in_the_way_are_left_alone(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "source"
    outside.mkdir()
    folder.mkdir()
    (outside / "a.txt").write_text("not ours")
    (folder / "link.txt").symlink_to(outside / "a.txt")
    (folder / "below").symlink_to(outside)
    (folder / "folder.txt").mkdir()
    (folder / "file").write_text("a file")
    os.mkfifo(folder / "pipe.txt")
    paths = ("link.txt", "below/a.txt", "folder.txt", "file/a.txt", "pipe.txt")
    written = write_documents(folder, [document(path, number=at) for at, path in enumerate(paths)], 1000)
    assert written.counts == {"differ": 5}
    assert (outside / "a.txt").read_text() == "not ours"
    assert [one.name for one in outside.iterdir()] == ["a.txt"]
