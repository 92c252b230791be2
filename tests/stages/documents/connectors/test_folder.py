"""Reading of files of a folder that others may write into."""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lightrag_dagster.stages.documents.connectors.folder import LocalFolder

INSIDE, OUTSIDE = b"inside", b"secret"


@pytest.fixture
def source(tmp_path: Path) -> LocalFolder:
    for folder, text in (("source/below", INSIDE), ("private/below", OUTSIDE)):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "a.md").write_bytes(text)
    return LocalFolder(tmp_path / "source")


def link_file(source: Path) -> None:
    (source / "below/a.md").unlink()
    (source / "below/a.md").symlink_to(source.parent / "private/below/a.md")


def link_folder(source: Path) -> None:
    (source / "below").rename(source / "before")
    (source / "below").symlink_to(source.parent / "private/below")


def make_pipe(source: Path) -> None:
    (source / "below/a.md").unlink()
    os.mkfifo(source / "below/a.md")


def remove(source: Path) -> None:
    (source / "below/a.md").unlink()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (link_file, "a symbolic link was put into its place"),
        (link_folder, "a symbolic link was put into its place"),
        (make_pipe, "not a regular file"),
        (remove, "No such file"),
    ],
)
def test_what_was_changed_since_it_was_judged_is_not_read(
    source: LocalFolder, change: Callable[[Path], None], reason: str
) -> None:
    [listed] = source.files()
    assert source.read(listed, 100) == INSIDE
    assert source.read(listed, 3) == INSIDE[:3]
    change(source.root)
    descriptors = len(list(Path("/dev/fd").iterdir()))
    with pytest.raises(OSError, match=reason):
        source.read(listed, 100)
    assert len(list(Path("/dev/fd").iterdir())) == descriptors


def test_a_link_inside_is_read(source: LocalFolder, tmp_path: Path) -> None:
    (source.root / "link.md").symlink_to("below/a.md")
    (tmp_path / "other").symlink_to(source.root)
    for root in (source.root, tmp_path / "other", source.root / "link.md"):
        origin = LocalFolder(root)
        assert {origin.read(listed, 100) for listed in origin.files()} == {INSIDE}


def test_no_swapped_link_is_ever_followed(source: LocalFolder) -> None:
    file, spare, link = source.root / "below/a.md", source.root / "spare", source.root / "link"
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            spare.write_bytes(INSIDE)
            link.symlink_to(source.root.parent / "private/below/a.md")
            link.replace(file)
            spare.replace(file)

    swapping = threading.Thread(target=swap)
    swapping.start()
    seen, until = set(), time.monotonic() + 1
    try:
        while time.monotonic() < until:
            for listed in source.files():
                if listed.path == "below/a.md" and not listed.refused:
                    try:
                        seen.add(source.read(listed, 100))
                    except OSError:
                        continue
    finally:
        stop.set()
        swapping.join()
    assert seen == {INSIDE}
