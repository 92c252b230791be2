from pathlib import Path

import pytest

from lightrag_dagster.errors import SourceError
from lightrag_dagster.settings import SourceSettings
from lightrag_dagster.settings.sources import RowsSettings
from lightrag_dagster.stages.documents.connectors.bucket import Bucket
from lightrag_dagster.stages.documents.connectors.factory import choose_origin
from lightrag_dagster.stages.documents.connectors.filesystem import FileSystem
from lightrag_dagster.stages.documents.connectors.folder import LocalFolder
from lightrag_dagster.stages.documents.connectors.origin import Origin
from lightrag_dagster.stages.documents.connectors.patterns import EVERY_FILE, Patterns
from lightrag_dagster.stages.documents.connectors.web import Web

MARKDOWN = Patterns(("**/*.md",))


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("docs", LocalFolder(Path("docs"))),
        ("docs/a.md", LocalFolder(Path("docs/a.md"))),
        ("docs/**/*.md", LocalFolder(Path("docs"), MARKDOWN)),
        ("/**/*.md", LocalFolder(Path("/"), MARKDOWN)),
        ("*.md", LocalFolder(Path(), Patterns(("*.md",)))),
        ("file:///srv/a%20b", LocalFolder(Path("/srv/a b"))),
        ("file:///srv/C#/a", LocalFolder(Path("/srv/C#/a"))),
        ("file:///srv/**/*.md", LocalFolder(Path("/srv"), MARKDOWN)),
        ("s3://bucket", Bucket("s3://bucket")),
        ("s3://bucket/docs", Bucket("s3://bucket/docs")),
        ("s3://bucket/docs/**/*.md", Bucket("s3://bucket/docs", MARKDOWN)),
        ("gs://bucket/docs/a.md", Bucket("gs://bucket/docs", file="a.md")),
        ("s3://bucket/docs/a%20b.md", Bucket("s3://bucket/docs", file="a b.md")),
        ("https://host/docs/a.md", Web("https://host/docs", ("a.md",), required=True)),
        ("zip::/srv/a.zip", FileSystem("zip::/srv/a.zip")),
        ("sftp://host/docs/**/*.md", FileSystem("sftp://host/docs", MARKDOWN)),
    ],
)
def test_the_uri_says_where_documents_are(uri: str, expected: Origin) -> None:
    assert choose_origin("s", SourceSettings(uri=uri)) == expected


def test_patterns_go_with_the_uri() -> None:
    given = SourceSettings(uri="s3://bucket/docs", include=("*.md",), exclude=("a*",))
    assert choose_origin("s", given) == Bucket("s3://bucket/docs", Patterns(("*.md",), ("a*", "a*/**/*")))
    named = SourceSettings(uri="https://host/docs/", include=("a.md", "b/c.html"))
    assert choose_origin("s", named) == Web("https://host/docs", named.include, Patterns(named.include))


def test_a_folder_may_have_a_name_like_a_glob(tmp_path: Path) -> None:
    (tmp_path / "a[1]").mkdir()
    assert choose_origin("s", SourceSettings(uri=str(tmp_path / "a[1]"))) == LocalFolder(tmp_path / "a[1]", EVERY_FILE)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (SourceSettings(uri="docs/*.md", include=("*",)), "patterns in its uri and in include"),
        (SourceSettings(uri="https://host/a.md", exclude=("b",)), "is one file; remove include and exclude"),
        (
            SourceSettings(uri="s3://bucket/a.csv", include=("a*",), rows=RowsSettings()),
            "is one file; remove include and exclude",
        ),
        (SourceSettings(uri=__file__, exclude=("b",)), "is one file; remove include and exclude"),
        (SourceSettings(uri="https://host/docs"), "a web server cannot be listed"),
        (SourceSettings(uri="https://host/*.md"), "a web server cannot be listed"),
        (SourceSettings(uri="file://host/docs"), "is not on this machine"),
        (SourceSettings(uri="~no-such-user/docs"), "is not on this machine"),
    ],
)
def test_what_cannot_be_used_is_one_line(given: SourceSettings, reason: str) -> None:
    with pytest.raises(SourceError, match=f"source 's'.*{reason}"):
        choose_origin("s", given)
