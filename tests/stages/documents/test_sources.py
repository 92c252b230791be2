import errno
import os
from pathlib import Path
from typing import Any

import pytest

from lightrag_dagster.errors import SourceError
from lightrag_dagster.settings import Settings, SourceSettings
from lightrag_dagster.stages.documents.connectors.folder import LocalFolder
from lightrag_dagster.stages.documents.connectors.patterns import Patterns
from lightrag_dagster.stages.documents.listing import list_files
from lightrag_dagster.stages.documents.sources import (
    Source,
    Unusable,
    chosen_sources,
    find_source,
    find_sources,
    loose_files,
    misnamed_sources,
)
from lightrag_dagster.storage.home import Home


@pytest.fixture(autouse=True)
def no_settings_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def settings(folder: Path, **named: SourceSettings) -> Settings:
    return Settings(sources=folder, named_sources=named)


def test_sub_folders_and_named_sources_in_order_of_name(tmp_path: Path) -> None:
    for name in ("news", "archive", ".hidden"):
        (tmp_path / "sources" / name).mkdir(parents=True)
    (tmp_path / "sources" / "stray.txt").write_text("not a source")
    named = {
        "manuals": SourceSettings(uri=str(tmp_path / "m"), include=("*.md",)),
        "web": SourceSettings(uri=(tmp_path / "a b").as_uri()),
    }
    found = find_sources(settings(tmp_path / "sources", **named))
    assert list(found.items()) == [
        ("archive", Source("archive", LocalFolder(tmp_path / "sources" / "archive"))),
        ("manuals", Source("manuals", LocalFolder(tmp_path / "m", Patterns(("*.md",))))),
        ("news", Source("news", LocalFolder(tmp_path / "sources" / "news"))),
        ("web", Source("web", LocalFolder(tmp_path / "a b"))),
    ]


def test_no_sources_is_not_an_error(tmp_path: Path) -> None:
    (tmp_path / "sources").mkdir()
    assert find_sources(settings(tmp_path / "sources")) == {}


@pytest.mark.parametrize(
    ("names", "methods", "message"),
    [
        (["note"], {}, r"^no such source: note; there are archive, notes$"),
        ([], {"note": "mentions"}, r"^extraction.methods: no such source: note; there are archive, notes$"),
        (["notes"], {"x": "llm", "a": "llm", "notes": "llm"}, "extraction.methods: no such source: a, x;"),
    ],
)
def test_a_name_that_is_no_source_is_an_error(
    tmp_path: Path, names: list[str], methods: dict[str, str], message: str
) -> None:
    for name in ("notes", "archive"):
        (tmp_path / "sources" / name).mkdir(parents=True)
    with pytest.raises(SourceError, match=message):
        chosen_sources(settings(tmp_path / "sources").changed(extraction={"methods": methods}), names)


@pytest.mark.parametrize(("stored", "typed"), [("e\u0301quipe", "\u00e9quipe"), ("\u00e9quipe", "e\u0301quipe")])
def test_a_name_is_the_same_with_composed_accents(tmp_path: Path, stored: str, typed: str) -> None:
    for name in (stored, "notes"):
        (tmp_path / "sources" / name).mkdir(parents=True)
    changed = settings(tmp_path / "sources").changed(extraction={"methods": {typed: "mentions"}})
    assert [one.name for one in chosen_sources(changed, [typed])] == [stored]
    assert changed.extraction.method_of(stored) == "mentions"


def test_sources_with_a_method_of_their_own_are_chosen_as_others(tmp_path: Path) -> None:
    (tmp_path / "sources" / "notes").mkdir(parents=True)
    changed = settings(tmp_path / "sources").changed(extraction={"methods": {"notes": "mentions", "gone": "mentions"}})
    (Home.of(changed).root / "tables" / "raw_documents" / "gone").mkdir(parents=True)
    assert [one.name for one in chosen_sources(changed, [])] == ["notes"]


def test_one_source_is_found_without_a_look_at_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step asks for its source, in a home that may have thousands."""
    (tmp_path / "sources" / "notes").mkdir(parents=True)
    given = settings(tmp_path / "sources", web=SourceSettings(uri="x"))
    changed = given.changed(extraction={"methods": {"notes": "mentions", "web": "mentions"}})
    wanted = find_sources(changed)
    with monkeypatch.context() as patch:
        patch.delattr(Path, "iterdir")
        assert [find_source(changed, name) for name in wanted] == [*wanted.values()]
    with pytest.raises(SourceError, match="no such source: gone"):
        find_source(given.changed(extraction={"methods": {"gone": "mentions"}}), "notes")


def test_a_missing_folder_is_an_error_unless_only_named_sources_are_wanted(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"missing' cannot be listed: No such file.*LIGHTRAG_SOURCES"):
        find_sources(settings(tmp_path / "missing", a=SourceSettings(uri="x")))
    with pytest.raises(SourceError, match="'sources' cannot be listed"):
        find_sources(Settings())
    assert list(find_sources(Settings(named_sources={"a": SourceSettings(uri="x")}))) == ["a"]


def test_a_file_in_place_of_the_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SourceError, match="Not a directory"):
        find_sources(settings(tmp_path / "file"))


def test_a_name_used_twice_costs_that_source_alone(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / "sources" / name).mkdir(parents=True)
    found = find_sources(settings(tmp_path / "sources", a=SourceSettings(uri="elsewhere")))
    assert list(found) == ["a", "b"]
    with pytest.raises(SourceError, match=r"^source 'a' is both a folder in .* and a named source; move the folder$"):
        list(list_files(found["a"]))
    assert list(list_files(found["b"])) == []


@pytest.mark.parametrize(
    ("named", "shared"),
    [
        ({"uri": "sources/letters"}, {"letters"}),  # which is named to be masked, and would be read without that too
        ({"uri": "sources/letters/2024/*.md"}, {"letters"}),
        ({"uri": "link"}, {"letters"}),
        ({"uri": "sources/letters/{partition}", "asset": "a", "include": ["*.md"]}, {"letters"}),
        ({"uri": "sources/letters/a.csv", "rows": {}}, {"letters"}),
        ({"uri": "sources"}, {"letters", "wiki"}),
        ({"uri": ".", "exclude": ["sources/wiki"]}, {"letters"}),
        ({"uri": ".", "include": ["docs/**"]}, set()),
        ({"uri": "sources/letters/a.duckdb", "rows": {"query": "SELECT"}}, set()),
        ({"uri": "sources/.hidden"}, set()),
        ({"uri": "sources2"}, set()),
        ({"uri": "s3://bucket/sources/letters"}, set()),
        ({"uri": "sources/letters/*", "include": ["*.md"]}, set()),  # which is an error of its own
        ({"uri": "sources/letters", "access": {"**": "hr"}, "mask": None}, {"letters"}),
        ({"uri": "sources/letters", "exclude": ["a.md"], "mask": None}, {"letters"}),
        ({"uri": "sources/letters/a.csv", "rows": {}, "mask": None}, set()),  # which has nothing to protect
        ({"uri": "sources/*/*.pdf", "mask": None}, set()),
    ],
)
def test_a_folder_that_a_named_source_reads_too_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: dict[str, Any], shared: set[str]
) -> None:
    for name in ("letters/2024", "wiki"):
        (tmp_path / "sources" / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to("sources/letters/2024")
    monkeypatch.chdir(tmp_path)
    given = settings(tmp_path / "sources", masked=SourceSettings(**{"mask": "package.mask"} | named))
    found = find_sources(given)
    assert {name for name in ("letters", "wiki") if isinstance(found[name].origin, Unusable)} == shared
    assert found == {name: find_source(given, name) for name in found}
    for name in shared:
        with pytest.raises(SourceError, match=rf"^source '{name}': .* is read by the named source 'masked' too; move"):
            list(list_files(found[name]))


def test_a_uri_that_cannot_be_used_costs_that_source_alone(tmp_path: Path) -> None:
    (tmp_path / "sources" / "b").mkdir(parents=True)
    found = find_sources(settings(tmp_path / "sources", a=SourceSettings(uri="https://host/docs")))
    with pytest.raises(SourceError, match=r"^source 'a': a web server cannot be listed"):
        list(list_files(found["a"]))
    assert list(list_files(found["b"])) == []


def test_a_disk_that_does_not_answer_costs_its_sources_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("dead", "good"):
        (tmp_path / "sources" / name).mkdir(parents=True)
    (tmp_path / "share").mkdir()
    stat = Path.stat

    def dead(path: Path, **options: bool) -> os.stat_result:
        if path.name in ("dead", "share"):
            raise OSError(errno.ESTALE, "Stale file handle")
        return stat(path, **options)

    monkeypatch.setattr(Path, "stat", dead)
    found = find_sources(settings(tmp_path / "sources", named=SourceSettings(uri=str(tmp_path / "share"))))
    assert list(found) == ["dead", "good", "named"]
    for name in ("dead", "named"):
        with pytest.raises(SourceError, match=rf"^source '{name}': .* cannot be used: .*Stale file handle"):
            list(list_files(found[name]))


def test_files_beside_the_folders_are_in_no_source(tmp_path: Path) -> None:
    (tmp_path / "sources" / "notes").mkdir(parents=True)
    for name in ("b.md", "a\nb.md", ".hidden", "notes/in.md"):
        (tmp_path / "sources" / name).write_text("Marta Lindqvist")
    assert loose_files(settings(tmp_path / "sources")) == ["a\\nb.md (9832b165)", "b.md"]
    assert loose_files(settings(tmp_path / "sources" / "notes")) == ["in.md"]


@pytest.mark.parametrize("name", ["a...b", "x\u202ey", "a\nb", "a\tb", "a\x00b", " a", "é" * 40, "a\udce9", "curation"])
def test_a_folder_whose_name_cannot_be_a_partition_key_is_named(tmp_path: Path, name: str) -> None:
    named = {name: SourceSettings(uri="some/folder")}
    (tmp_path / "sources" / "good").mkdir(parents=True)
    configured = settings(tmp_path / "sources", **named)
    assert list(find_sources(configured)) == ["good"]
    ((shown, reason),) = misnamed_sources(configured).items()
    assert shown.isprintable()
    assert reason.startswith(f"source name {name!r} may not")
    assert reason.endswith("rename the folder or source 'some/folder'")


@pytest.mark.parametrize("name", ["", ".", "..", ".a", "a/b", "@a"])
def test_a_name_that_would_be_another_path_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "sources").mkdir()
    configured = settings(tmp_path / "sources", **{name: SourceSettings(uri="x")})
    assert find_sources(configured) == {}
    for names in ([], [name]):
        with pytest.raises(SourceError, match=r"^source name"):
            chosen_sources(configured, names)


@pytest.mark.parametrize("name", ["a b", "a,b", "a|b", "日本語", "a..b", "[a]"])
def test_other_names_are_fine(tmp_path: Path, name: str) -> None:
    (tmp_path / "sources" / name).mkdir(parents=True)
    assert list(find_sources(settings(tmp_path / "sources"))) == [name]


def test_a_linked_folder_is_refused_unless_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "a.md").write_text("Of nobody's concern.")
    (tmp_path / "sources" / "real").mkdir(parents=True)
    (tmp_path / "sources" / "linked").symlink_to(tmp_path / "private")
    (tmp_path / "sources" / "twin").symlink_to(tmp_path / "sources" / "real")
    found = find_sources(settings(tmp_path / "sources"))
    assert list(found) == ["linked", "real", "twin"]
    with pytest.raises(SourceError, match=r"source 'linked': .* is a link out of the folder of sources; .* named"):
        list(list_files(found["linked"]))
    assert list(list_files(found["twin"])) == []
    named = find_sources(settings(tmp_path / "sources", linked=SourceSettings(uri=str(tmp_path / "private"))))
    assert [listed.path for listed in list_files(named["linked"])] == ["a.md"]
