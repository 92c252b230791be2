"""Documents of another system as files: paths of any kind, and the files of people."""

import os
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

import pytest

from lightrag_dagster.imports.files import RECORD, WrittenDocuments, safe_path, write_documents
from lightrag_dagster.imports.stored import StoredDocument


def write(folder: Path, documents: Sequence[StoredDocument]) -> WrittenDocuments:
    return write_documents(folder, lambda: documents, 1000)


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
    write(tmp_path, [document(path, text)])
    assert files(tmp_path) == {file: text}


def test_paths_that_are_equal_in_any_case_stay_apart(tmp_path: Path) -> None:
    texts = [document(path, f"Text {at}.", at) for at, path in enumerate(("a.txt", "A.TXT", "./a.txt", "a"))]
    assert write(tmp_path, texts).counts == {"new": 4, "renamed": 2}
    assert sorted(files(tmp_path).values()) == ["Text 0.", "Text 1.", "Text 2.", "Text 3."]


def test_again_takes_what_is_new_and_leaves_what_people_did(tmp_path: Path) -> None:
    names = ("same", "edited", "removed", "newer")
    write(tmp_path, [document(f"{name}.txt", f"{name} before", number) for number, name in enumerate(names)])
    (tmp_path / "edited.txt").write_text("edited by a person")
    (tmp_path / "removed.txt").unlink()
    texts = {
        "same": "same before",
        "edited": "edited before",
        "removed": "removed before",
        "newer": "newer now",
        "more": "more",
    }
    written = write(tmp_path, [document(f"{name}.txt", text, at) for at, (name, text) in enumerate(texts.items())])
    assert written.counts == {"unchanged": 1, "differ": 1, "removed here": 1, "changed": 1, "new": 1}
    assert written.first["differ"] == "edited.txt"
    assert files(tmp_path) == {
        "same.txt": "same before", "edited.txt": "edited by a person", "newer.txt": "newer now", "more.txt": "more",
    }  # fmt: skip


def test_the_record_of_an_import_has_no_names(tmp_path: Path) -> None:
    write(tmp_path, [document("secret-plan.txt", "A secret.")])
    assert "secret" not in (tmp_path / RECORD).read_text()


def test_what_is_empty_or_too_large_is_left_out(tmp_path: Path) -> None:
    texts = [" \n", "é" * 600, "\ud800 x"]
    written = write(
        tmp_path, [document(path, text, at) for at, (path, text) in enumerate(zip("abc", texts, strict=True))]
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
    written = write(folder, [document(path, number=at) for at, path in enumerate(paths)])
    assert written.counts == {"differ": 5}
    assert (outside / "a.txt").read_text() == "not ours"
    assert [one.name for one in outside.iterdir()] == ["a.txt"]


GONE = "deleted there"


def there(**texts: str) -> list[StoredDocument]:
    """Return documents by their ids, whose first letter says which of three paths they have; two differ in case."""
    return [
        StoredDocument(name, {"p": "plan.txt", "P": "Plan.txt", "o": "other"}[name[0]], texts[name]) for name in texts
    ]


def test_the_order_of_rows_changes_nothing(tmp_path: Path) -> None:
    documents = there(p1="one", p2="two", P="three", o="four")
    orders = list(permutations(documents))
    for at, order in enumerate(orders):
        write(tmp_path / f"{at}", order)
        assert write(tmp_path / f"{at}", orders[-at]).counts["unchanged"] == len(documents)
    found = [
        files(tmp_path / f"{at}") | {RECORD: (tmp_path / f"{at}" / RECORD).read_text()} for at in range(len(orders))
    ]
    assert found == [found[0]] * len(orders)
    assert len(found[0]) == 5


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(
    ("before", "now", "counts", "texts"),
    [
        # deleted there: it stays here, and the other is not written over it
        ({"p1": "one", "p2": "two"}, {"p2": "two"}, {"unchanged": 1, GONE: 1}, ["one", "two"]),
        ({"p1": "one", "p2": "two"}, {"p1": "one"}, {"unchanged": 1, GONE: 1}, ["one", "two"]),
        # edited there under its id, or under another one
        ({"p1": "one", "P": "two"}, {"p1": "one", "P": "new"}, {"unchanged": 1, "changed": 1}, ["new", "one"]),
        ({"p1": "one", "P1": "two"}, {"p1": "one", "P2": "new"}, {"unchanged": 1, "changed": 1}, ["new", "one"]),
        ({"p1": "one", "p2": "two"}, {"p3": "new", "p2": "two"}, {"unchanged": 1, "changed": 1}, ["new", "two"]),
        ({"p1": "one", "P1": "two"}, {"p2": "new", "P2": "newer"}, {"changed": 2}, ["new", "newer"]),
        # which of two was edited is not known
        ({"p1": "one", "p2": "two"}, {"p3": "new"}, {"new": 1, "beside": 1, GONE: 2}, ["new", "one", "two"]),
        ({"p1": "one"}, {"p2": "a", "p3": "b"}, {"new": 2, "beside": 2, GONE: 1}, ["a", "b", "one"]),
        ({"p1": "one"}, {"p2": "one", "p3": "b"}, {"new": 2, "beside": 2, GONE: 1}, ["b", "one", "one"]),
        # an id stays the same document under another path
        ({"p1": "one"}, {"p1": "one", "p2": "two"}, {"unchanged": 1, "new": 1}, ["one", "two"]),
        ({"p1": "one", "o": "two"}, {"p1": " ", "o": "new"}, {"empty": 1, "changed": 1}, ["new", "one"]),
    ],
)  # fmt: skip
def test_a_file_stays_that_of_its_document(
    tmp_path: Path, before: dict[str, str], now: dict[str, str], counts: dict[str, int], texts: list[str], order: int
) -> None:
    write(tmp_path, there(**before))
    kept = {text: path for path, text in files(tmp_path).items()}
    made = write(tmp_path, there(**now)[::order]).counts
    del made["renamed"]
    assert made == counts
    assert sorted(files(tmp_path).values()) == texts
    assert {text: path for path, text in files(tmp_path).items() if text in kept}.items() <= kept.items()
    first = files(tmp_path)
    assert not write(tmp_path, there(**now)[::-order]).counts.keys() & {"new", "changed", "beside"}
    assert files(tmp_path) == first


def test_what_was_deleted_there_is_told_while_its_file_is_here(tmp_path: Path) -> None:
    write(tmp_path, there(p1="one", P="two", o="three"))
    made = write(tmp_path, there(p1="one"))
    assert (made.counts[GONE], made.first[GONE].startswith("Plan")) == (2, True)
    assert write_documents(tmp_path, lambda: there(p1="one"), 1000, is_whole=False).counts[GONE] == 0
    (tmp_path / "other.txt").unlink()
    assert write(tmp_path, there(p1="one")).counts[GONE] == 1


def test_a_file_is_not_given_to_another_document_while_not_all_are_read(tmp_path: Path) -> None:
    write(tmp_path, there(p1="one"))
    made = write_documents(tmp_path, lambda: there(p2="new"), 1000, is_whole=False)
    assert made.counts["new"] == made.counts["beside"] == 1
    assert sorted(files(tmp_path).values()) == ["new", "one"]


def test_a_file_whose_accents_are_apart_is_the_same(tmp_path: Path) -> None:
    write(tmp_path, [document("caf\u00e9.txt")])
    (tmp_path / "caf\u00e9.txt").rename(tmp_path / "cafe\u0301.txt")  # as a copy by macOS
    assert write(tmp_path, [document("caf\u00e9.txt")]).counts == {"unchanged": 1}


def test_a_file_of_another_kind_keeps_its_suffix(tmp_path: Path) -> None:
    write(tmp_path, [document("a.pdf", "A text.")])
    assert write(tmp_path, [document("a.pdf", "# A heading\n\nA text.")]).counts["changed"] == 1
    assert list(files(tmp_path)) == ["a.pdf.txt"]


def test_a_name_that_looks_like_one_of_ours_is_another(tmp_path: Path) -> None:
    write(tmp_path, there(p1="one", p2="two"))
    [path] = [path for path in files(tmp_path) if "~" in path]
    other = tmp_path / "other"
    write(other, [*there(p1="one", p2="two"), StoredDocument("a", path, "three")])
    assert sorted(files(other).values()) == ["one", "three", "two"]
